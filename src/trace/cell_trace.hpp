// What a traced run of one cell did, rank by rank, in the order of each rank's own program. Made by
// RankRecorder (rank_recorder.hpp), written and read as JSON (trace_json.hpp), laid out in time by
// timeline.hpp, compared by collective_diff.hpp. Holds no pointers and no times: equal runs give
// equal traces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace culprit {

// A tensor object as an operation saw it. Ids count from 0 in the order of first appearance on the
// rank.
struct TraceTensor {
  int object = -1;  // -1: undefined (a none)
  int impl = -1;  // two objects with one impl: detach, or an output that is its input; -1: released
  int storage = -1;  // two impls with one storage: view
  std::string name;
  std::uint32_t version = 0;  // in-place version after the operation
  bool is_leaf = false;       // after the operation
  bool stop_gradient = true;
  bool operator==(const TraceTensor&) const = default;
};

struct TraceEvent {
  enum class Kind {
    kOperator,        // an ordinary operator
    kCustomFunction,  // forward of a custom function; its operators stand before it
    kNodeBackward,    // a node's backward has run; what it called stands before it
    kCollective,      // a collective was started (all-reduce) or done (all-gather)
    kCollectiveWait,  // a started collective was waited for
    kSend,
    kReceive,
    kRaised,  // what ended the rank: always its last event; name is the error's kind
  };
  Kind kind = Kind::kOperator;
  std::string name;  // "matmul", "c_identity", ...; of communication: what was called, in words
  std::string pass;  // start | forward | backward | finish
  int micro_batch = 0;
  bool in_recompute = false;

  // Operators and custom functions.
  std::vector<TraceTensor> inputs;
  std::vector<TraceTensor> outputs;
  bool recorded = false;         // a grad node was made; for kNodeBackward: which one ran
  int node = -1;                 // its id; ids count from 0 in the order of recording
  std::vector<int> input_nodes;  // one an input: the node its gradient goes to, -1: nowhere, -2:
                                 // the leaf's own grad
  std::vector<bool>
      rebased;  // one an output: an object passed in had its history moved onto `node`. A marked
                // output stands twice: the object passed in, then the new one that was returned

  // Communication.
  std::string group;              // "tensor" | "pipe"
  int peer = -1;                  // rank in the group, of a send or receive
  std::int64_t num_elements = 0;  // 0 for a none
  int collective = -1;            // kCollective and kCollectiveWait: its number in the group
  bool operator==(const TraceEvent&) const = default;
};

// Of one rank; what happens after it is not kept.
inline constexpr std::size_t kMaxTraceEvents = 5000;

struct RankTrace {
  int stage = 0;
  int tp_rank = 0;
  std::vector<TraceEvent> events;
  bool truncated = false;       // more happened than kMaxTraceEvents
  std::string error_kind = {};  // what ended the rank early; empty: it finished
  std::string error_message = {};
  bool operator==(const RankTrace&) const = default;
};

// In the order stage, then tensor rank.
struct CellTrace {
  std::vector<RankTrace> ranks;
  bool operator==(const CellTrace&) const = default;
};

}  // namespace culprit
