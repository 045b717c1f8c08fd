// Back-end triage: a minimal failing cell and its passing twin on every back end that is here, and
// what follows for the bug.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/run_matrix.hpp"

namespace culprit {

// Where cells can be run beside, or instead of, where the matrix ran.
struct TriageBackend {
  std::string name;    // "cpu+local", "cuda+nccl"
  std::string absent;  // why it can't be used; empty: it can
  TrialOptions options = {};
  bool is_blocking = false;  // CUDA_LAUNCH_BLOCKING=1: the same back end without its overlap
};

// What the failing cell and its twin came to there, as fingerprints (empty: PASS).
struct TriageRow {
  std::string backend;
  std::string absent;  // why nothing ran
  std::string failing;
  std::optional<std::string> twin;    // none: the combination has no passing neighbour
  std::optional<std::string> waited;  // the failing cell with its left-out wait; none: it leaves out none
  bool is_blocking = false;
};

enum class TriageVerdict { kIndependent, kOnlyWith, kTimingOnly, kUndecided };

struct Triage {
  std::vector<TriageRow> rows;
  TriageVerdict verdict = TriageVerdict::kUndecided;
  std::string in_words;  // "independent of back end (cpu+local, cpu+mpi)", "only with ...", ...
};

// Judges rows:
// - timing only: with the wait it passes wherever it failed, or CUDA_LAUNCH_BLOCKING=1 changes it;
// - independent: it fails alike on at least two back ends and on every one that is here;
// - only with: it fails on some of several back ends, or not alike;
// - undecided: fewer than two back ends are here, or it passes now on each.
// A back end on which the passing neighbour fails is none that counts, and told of.
Triage judge_triage(std::vector<TriageRow> rows);

// Runs and judges one minimal finding. A back end that turns out to be missing or broken is told as
// absent. Errors: Stopped.
Triage triage(const Scenario& scenario, const JobResult& job, const MinimalFinding& finding,
              const std::vector<TriageBackend>& backends);

// "timing only", for a report's field.
std::string_view name_of(TriageVerdict verdict);
std::optional<TriageVerdict> triage_verdict_named(std::string_view name);

}  // namespace culprit
