// A trace as JSON (docs/schemas.md).
#pragma once

#include <string>
#include <string_view>

#include "trace/cell_trace.hpp"

namespace culprit {

std::string trace_to_json(const CellTrace& trace);
// Errors: SetupError naming what is wrong with the text.
CellTrace trace_from_json(std::string_view text);

}  // namespace culprit
