#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "campaign/trial_source.hpp"
#include "isolate/sequential_test.hpp"

namespace culprit {
namespace {

// Trials for the sizes of one combination, before repeats.
constexpr std::size_t kMostSizeTrials = 200;

Assignment at_sizes(const CommandTarget& target, Assignment trial,
                    const std::vector<std::size_t>& which, const Sizes& sizes) {
  for (std::size_t i = 0; i < which.size(); ++i) {
    const std::vector<std::int64_t>& values = target.spec().sizes[which[i]].values;
    const auto place = std::lower_bound(values.begin(), values.end(), sizes[i]);
    trial[target.size_switch(which[i])] = static_cast<std::uint16_t>(place - values.begin());
  }
  return trial;
}

}  // namespace

void shrink_details(const CommandTarget& target, const CampaignOptions& options,
                    TrialSource& source, CampaignResult& result) {
  for (std::size_t c = 0; c < result.details.size(); ++c) {
    CombinationDetail& detail = result.details[c];
    const Combination& combination = result.search.combinations[c];
    std::vector<SizeAxis> axes;
    SizeFinding finding;
    for (std::size_t i = 0; i < target.spec().sizes.size(); ++i) {
      if (!target.size_applies(i, detail.plain)) continue;
      const SizeSpec& size = target.spec().sizes[i];
      finding.sizes.push_back(i);
      axes.push_back({size.name, size.values.back(), size.values.front(), size.values});
    }
    if (axes.empty()) continue;
    ShrinkOptions shrink;
    shrink.repeats = combination.flaky ? repeats_to_trust_absence(options.search.failure_rate_floor)
                                       : std::size_t{1};
    shrink.max_trials = kMostSizeTrials * shrink.repeats;
    try {
      finding.result = shrink_sizes(axes, combination.fingerprint, shrink, [&](auto batch) {
        std::vector<Assignment> trials;
        for (const Sizes& sizes : batch)
          trials.push_back(at_sizes(target, detail.plain, finding.sizes, sizes));
        return source.run(trials);
      });
    } catch (const UsageError&) {
      // A failure that comes and goes, or a target that changed under the search.
      result.notices.push_back(fmt::format(
          "the sizes of combination {} were not shrunk: its failure did not come back", c + 1));
      continue;
    }
    detail.smallest = at_sizes(target, detail.plain, finding.sizes, finding.result.sizes);
    detail.sizes = std::move(finding);
    if (source.stopped() != CampaignStop::kComplete) return;
  }
}

}  // namespace culprit
