// The text of repro.cpp's small engine, in pieces; the traits of repro_plan.cpp choose pieces and
// lines. The rules that a piece follows are those of docs/semantics.md.
#pragma once

namespace culprit::cpp_pieces {

// Handles, impls, memory; nodes and histories. Rules 1 to 3.
extern const char* const kTensors;
// matmul, add, scale, view. Rule 3.
extern const char* const kOperators;
// The sweep. Rule 4.
extern const char* const kBackward;
// What an operator saves, and non-reentrant recomputation, which supplies it. Rules 3 and 15.
extern const char* const kSaving;
// PyLayer.apply. Rules 5 to 9.
extern const char* const kCustomFunction;
// Reentrant and non-reentrant recomputation. Rules 14 and 15.
extern const char* const kRecompute;
// Ranks as threads, channels, the all-reduce. Rule 13.
extern const char* const kRanks;
// The functions of a group: identity, all-reduce, gather, overlapping linear. Rules 10 to 12.
extern const char* const kRegions;
// Values, parameters, one rank's step. Rules 16 and 17.
extern const char* const kStep;
// All ranks, and what they came to.
extern const char* const kRun;

}  // namespace culprit::cpp_pieces
