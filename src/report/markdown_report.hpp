// report.md, fit to paste into an issue tracker.
#pragma once

#include <cstddef>
#include <string>

#include "report/run_record.hpp"

namespace culprit {

// A tracker's limit for one text, in characters; counted here in bytes, so that the report is always below it.
inline constexpr std::size_t kMarkdownLimit = 65536;

// The verdict stands in the first lines; evidence is folded, and cut between lines, with a notice, where the whole would
// be too long.
std::string markdown_report(const RunRecord& record);

}  // namespace culprit
