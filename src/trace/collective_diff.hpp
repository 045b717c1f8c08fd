// Streams of collectives and transfers of two runs, rank by rank: where they first differ.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trace/cell_trace.hpp"

namespace culprit {

struct CollectiveDifference {
  enum class Kind { kExtra, kMissing, kReordered, kDifferentSize };
  Kind kind = Kind::kExtra;
  int stage = 0;
  int tp_rank = 0;
  std::size_t position = 0;  // in the failing rank's stream, from 0
  std::string call;          // the call that is extra, missing, out of order or of another size
  std::string in_words;      // one line
};

// Of every rank with the same place in both, the first difference; empty where the streams agree.
// The ranks of layouts that differ (pp on against off) are compared where both have them.
std::vector<CollectiveDifference> diff_collectives(const CellTrace& failing,
                                                   const CellTrace& passing);

}  // namespace culprit
