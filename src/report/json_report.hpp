// report.json (docs/schemas.md, docs/report.schema.json).
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace culprit {

inline constexpr int kReportSchema = 1;

std::string json_report(const RunRecord& record);

}  // namespace culprit
