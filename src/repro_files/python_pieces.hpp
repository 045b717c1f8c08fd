// The text of repro.py, in pieces; the traits of repro_plan.cpp choose pieces and lines.
#pragma once

namespace culprit::python_pieces {

// What is seen, how to run it, imports, constants, the table of parameters.
extern const char* const kHead;
// A process group over pipes, as the framework's layers ask for one.
extern const char* const kGroup;
// The identity operator with another forward than c_identity's.
extern const char* const kOtherIdentity;
// The all-gather of a tail.
extern const char* const kGather;
// The functions of a group that do nothing in the one-rank reference.
extern const char* const kWithoutGroup;
// A linear whose weight takes no gradient, as a custom function.
extern const char* const kFrozenLinear;
// Values, parameters.
extern const char* const kNumbers;
// One rank's step without a pipeline.
extern const char* const kTrain;
// One rank's step in a pipeline; its two halves follow.
extern const char* const kTrainStage;
extern const char* const kForward;
extern const char* const kBackward;
// The reference of a pipeline.
extern const char* const kReference;
// What a forked rank does, and how it judges itself.
extern const char* const kRank;
// The same without ranks.
extern const char* const kAlone;
// Forks the ranks and ends as the first that failed.
extern const char* const kMain;

}  // namespace culprit::python_pieces
