// junit.xml, for CI readers.
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace culprit {

// One test case a cell, which never fails by itself: showing a bug is what a scenario is for. One
// more a job, "came out as declared", which fails when it did not. Times stand in the testsuites
// element only.
std::string junit_report(const RunRecord& record);

}  // namespace culprit
