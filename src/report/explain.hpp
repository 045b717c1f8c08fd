// What the numbers of a finding mean: the line that joins switches to the first bad value, the
// noise floor it is held against, and the certificate in words. Plain text: writers escape it for
// their format.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "matrix/certificate.hpp"
#include "report/run_record.hpp"
#include "trace/collective_diff.hpp"

namespace culprit {

// How far float32 on several ranks strays from the float64 reference where nothing is wrong: the
// largest deviation among the passing cells of the run.
struct NoiseFloor {
  double deviation = 0.0;
  std::size_t num_cells = 0;
};
// None when no cell passed.
std::optional<NoiseFloor> noise_floor(const RunRecord& record);

// "bound 8.2e-06, noise floor 3e-07 (largest deviation among the 30 passing cells)"
std::string bounds_in_words(const RunRecord& record);

// "with skip_c_identity + residual, stage 0, both ranks, micro-batch 0, backward: gradient of embed
// is off by 2.27 x its largest reference entry; first bad value: ..."; without the bounds.
std::string first_bad_in_words(const JobResult& job, const Choice& choice, const Outcome& outcome);

// One line a fact: the smaller combinations that pass, the runs that contain it.
std::vector<std::string> certificate_in_words(const JobResult& job, const MinimalFinding& finding);

// "tp 2 x pp 1, 1 micro-batch, 1 block, 2 features, 1 token: fails the same way"
std::string smallest_in_words(const JobResult& job, const MinimalFinding& finding);

// "tp 2 x pp 1, 4 micro-batches, 2 blocks, 8 features, 3 tokens"
std::string sizes_in_words(const Cell& cell);

// "stage 0, rank 1: ends after 2 calls; the next of the passing run is ..."
std::string collective_in_words(const CollectiveDifference& difference);

}  // namespace culprit
