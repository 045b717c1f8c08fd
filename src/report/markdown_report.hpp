// report.md, fit to paste into an issue tracker.
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace culprit {

std::string markdown_report(const RunRecord& record);

}  // namespace culprit
