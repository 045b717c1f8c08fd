// ctrf.json: the run in the Common Test Report Format (ctrf.io), for dashboards that read it.
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace culprit {

// The tests of junit_report. Times stand in the summary only.
std::string ctrf_report(const RunRecord& record);

}  // namespace culprit
