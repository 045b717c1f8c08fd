#include "campaign/trial_source.hpp"

#include <algorithm>

namespace culprit {

std::vector<Trial> TrialSource::run(std::span<const Assignment> trials) {
  const std::size_t allowed = std::min(trials.size(), left());
  std::vector<Trial> results;
  if (allowed > 0) results = evaluate_(trials.first(allowed));
  count_ += results.size();
  if (results.size() < allowed)
    stopped_ = CampaignStop::kCancelled;
  else if (allowed < trials.size())
    stopped_ = CampaignStop::kBudget;
  return results;
}

}  // namespace culprit
