// report.json (schema: docs/schemas.md) and junit.xml.
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace culprit {

inline constexpr int kReportSchema = 1;

std::string json_report(const RunRecord& record);
// One test case a cell: it succeeds when the run came out as declared; a minimal failing
// combination that was declared is a success too, since showing the bug is what the scenario is
// for.
std::string junit_report(const RunRecord& record);

}  // namespace culprit
