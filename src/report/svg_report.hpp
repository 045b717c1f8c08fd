// matrix.svg: the matrix as a picture that stands alone (no script, no style sheet, no font of its
// own).
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace culprit {

// All jobs one below the other. Colour and symbol carry the same meaning: it reads in black and
// white.
std::string svg_report(const RunRecord& record);

}  // namespace culprit
