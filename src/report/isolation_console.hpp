// The verdict of `culprit isolate` on a terminal.
#pragma once

#include <string>

#include "report/isolation_record.hpp"
#include "terminal/style.hpp"

namespace culprit {

// First the minimal combinations with certificate, sizes and the command that repeats each; then
// other findings, fixes, coverage and notices. Lines are cut at `columns` but for commands.
std::string isolation_console(const IsolationRecord& record, const Style& style, int columns);

}  // namespace culprit
