// trace.json: the traced cells as Chrome trace events, for Perfetto (ui.perfetto.dev) and
// chrome://tracing.
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace culprit {

// One process a traced cell, one thread a rank; phases, and in them operations, collectives,
// transfers and waits. One logical unit is one microsecond.
std::string chrome_trace(const RunRecord& record);

}  // namespace culprit
