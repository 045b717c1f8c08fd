// The verdict on a terminal.
#pragma once

#include <string>

#include "report/run_record.hpp"
#include "terminal/style.hpp"

namespace culprit {

// First the minimal failing combinations, silent ones first, then the fixes, then the matrix.
std::string console_report(const RunRecord& record, const Style& style, int columns);

}  // namespace culprit
