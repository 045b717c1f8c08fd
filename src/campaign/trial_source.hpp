// The trials of a campaign's parts, counted against one budget. Used in this folder only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "campaign/campaign.hpp"

namespace culprit {

class TrialSource {
 public:
  TrialSource(Evaluate evaluate, std::size_t budget)
      : evaluate_(std::move(evaluate)), budget_(budget) {}

  // Results in order; fewer than asked when the budget ends or the run was cancelled.
  std::vector<Trial> run(std::span<const Assignment> trials);

  std::size_t count() const { return count_; }
  std::size_t left() const { return budget_ - count_; }
  CampaignStop stopped() const { return stopped_; }

 private:
  Evaluate evaluate_;
  std::size_t budget_;
  std::size_t count_ = 0;
  CampaignStop stopped_ = CampaignStop::kComplete;
};

// Lowers the sizes of each combination. `details` has plain filled in.
void shrink_details(const CommandTarget& target, const CampaignOptions& options,
                    TrialSource& source, CampaignResult& result);

// Tries the fixes at the plain cells and at passing ones.
void attribute(const CommandTarget& target, const CampaignOptions& options, TrialSource& source,
               CampaignResult& result);

}  // namespace culprit
