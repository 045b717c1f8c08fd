// A trace laid out in logical time: every operation takes one unit, a collective starts when its
// last member has come, a receive when its message has been sent. Deterministic, so that equal runs
// give equal pictures; it shows order and waiting, not seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/cell_trace.hpp"

namespace culprit {

struct TimelineSpan {
  enum class Kind { kForward, kRecompute, kBackward, kCollective, kTransfer, kWait, kOther };
  Kind kind = Kind::kOther;
  std::string name;
  int micro_batch = 0;
  std::int64_t begin = 0;  // logical units
  std::int64_t end = 0;    // > begin
  std::size_t first_event =
      0;  // of the rank's events; a phase span covers [first_event, last_event]
  std::size_t last_event = 0;
};

// One row a rank, in the trace's order.
struct TimelineRow {
  std::string title;  // "stage 0, rank 1"
  std::vector<TimelineSpan>
      phases;  // forward 0, recompute 0, backward 0, ...: one behind the other
  std::vector<TimelineSpan> events;  // every operation, collective, transfer and wait within them
  std::int64_t ended = 0;
  std::string error_kind;  // set when the rank ended early, at `ended`
};

std::vector<TimelineRow> lay_out(const CellTrace& trace);

}  // namespace culprit
