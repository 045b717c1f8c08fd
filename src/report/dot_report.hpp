// graph.dot: the autograd graphs around each traced defect and of their passing twins, for
// Graphviz.
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace culprit {

// Boxes are grad nodes, ovals tensor objects (those on one memory share a frame), solid arrows
// data, dashed arrows gradients; bold where the failing run differs from its twin.
std::string dot_report(const RunRecord& record);

}  // namespace culprit
