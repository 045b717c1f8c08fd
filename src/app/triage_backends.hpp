// The back ends that a triage tries: those of this build and machine, and why not the others.
#pragma once

#include <vector>

#include "matrix/triage.hpp"
#include "runtime/open_runtime.hpp"

namespace culprit {

// `base`: options as the run's trials have them, but for where they run. `choice`: the run's, whose
// GPU is taken if it names one. `num_ranks`: of the largest cell.
std::vector<TriageBackend> triage_backends(const TrialOptions& base, const RuntimeChoice& choice,
                                           int num_ranks);

}  // namespace culprit
