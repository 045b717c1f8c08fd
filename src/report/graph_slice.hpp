// The part of a rank's autograd graph around a defect: the operations that touch the memory in
// question, and how they differ from those of the passing twin. Drawn by html_graph.cpp and
// dot_report.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "matrix/run_matrix.hpp"

namespace culprit {

inline constexpr int kOtherNode = -3;

struct GraphRow {
  const TraceEvent* event = nullptr;  // of the trace the slice was made from
  std::size_t skipped = 0;            // operations left out before it
  bool is_defect = false;
  enum class Raised { kNot, kInCall, kInBackward, kAfter };
  Raised raised = Raised::kNot;  // whether the rank ended here: in the call, in its node's backward
                                 // or behind it
  std::string error_kind;        // then
  // Against the operation at the same place of the twin; without one nothing differs.
  std::vector<bool> output_differs;  // one an output: another object, memory or history than there
  std::vector<int> twin_nodes;       // one an input: where its gradient goes there, in this trace's
                                     // numbers; kOtherNode when nothing here corresponds to it
};

struct GraphSlice {
  int stage = 0;
  int tp_rank = 0;
  std::vector<GraphRow> rows;
  // Those that more than one of the rows, or the defect, touch, in the order of first use. What
  // else a row reads or makes (parameters, values for later) is its own.
  std::vector<int> storages;
};

// Failing first, then the twin (no rows where it has none). Points into the finding's traces. None
// without a trace.
std::optional<std::pair<GraphSlice, GraphSlice>> slice_around_defect(const JobResult& job,
                                                                     const MinimalFinding& finding);

// How an output relates to the inputs: "the object passed in", "a new object on the same impl",
// "new handle on the same memory", "new memory".
std::string aliasing_in_words(const TraceEvent& event, std::size_t output);
// "t3" for generated_tensor_3, else the name.
std::string short_name(const TraceTensor& tensor);
// What the slice shows, a sentence a line.
std::vector<std::string> slice_in_words(const GraphSlice& failing);

}  // namespace culprit
