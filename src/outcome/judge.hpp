// Stage: outcome. All ranks' results and the reference in, an Outcome out.
#pragma once

#include <vector>

#include "config/cell.hpp"
#include "engine/rank_result.hpp"
#include "outcome/outcome.hpp"
#include "outcome/reference.hpp"

namespace culprit {

// Pure. Bounds: tolerance_for(cell). Precedence where no rank raised: WRONG_LOSS, MISSING_GRAD,
// WRONG_GRAD, PASS. Ranks that only lost a peer never decide unless nobody else failed. Does not
// fill Outcome::first of a wrong or missing gradient beyond the final values: that needs results
// and a reference kept per micro-batch (locate_first).
Outcome judge(const Cell& cell, const std::vector<RankResult>& results, const Reference& reference);

// The first missing or deviating parameter in backward order, and the micro-batch after which it
// deviates. `results` and `reference` must have been kept per micro-batch.
std::optional<Place> locate_first(const Cell& cell, const std::vector<RankResult>& results,
                                  const Reference& reference);

}  // namespace culprit
