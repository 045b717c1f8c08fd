// report.md of `culprit isolate`, fit to paste into an issue tracker.
#pragma once

#include <string>

#include "report/isolation_record.hpp"
#include "report/redact.hpp"

namespace culprit {

// What trackers take in one comment.
inline constexpr std::size_t kMostMarkdownBytes = 65'536;

// Below kMostMarkdownBytes: what does not fit is left out, the least important first, and the
// report says so.
std::string isolation_markdown(const IsolationRecord& record, Redactor& redactor);

}  // namespace culprit
