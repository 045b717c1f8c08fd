// Stage campaign: a target and its journal -> everything `culprit isolate` can say about it: the
// minimal failing combinations, then for each the smallest sizes at which it still fails, then
// which candidate fixes resolve it. Each trial runs through the journal, so a killed campaign goes
// on where it was.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isolate/attribute_fixes.hpp"
#include "isolate/search.hpp"
#include "isolate/shrink_sizes.hpp"
#include "target/command_runner.hpp"
#include "target/command_target.hpp"
#include "target/journal.hpp"

namespace culprit {

struct CampaignOptions {
  SearchOptions search;  // max_trials is the budget of the whole campaign
  CommandRunnerOptions runner;
  // Called when a part begins: "searching", "sizes", "fixes". May be empty.
  std::function<void(const std::string& part)> on_part;
};

// How far the sizes of one combination went down.
struct SizeFinding {
  std::vector<std::size_t> sizes;  // which ones, as indices into CommandSpec::sizes
  ShrinkResult result;             // in their order
};

// What is known of one combination beside SearchResult::combinations, in that order.
struct CombinationDetail {
  Assignment plain;  // of the trial space: fails with it, with as few other switches on as possible
  Assignment smallest;  // the same at the smallest sizes found
  std::string note;     // how a run of `plain` ended, in the program's words; may be empty
  std::optional<SizeFinding> sizes;  // none: no size to shrink, or not reached
};

// One of the cells at which fixes are tried.
struct FixCell {
  Assignment trial;                       // without a fix
  std::vector<std::size_t> combinations;  // that are plain there; empty: a passing cell
};

struct FixFinding {
  std::vector<FixCell> cells;  // failing ones first, as FixCellEffect::cell counts them
  FixResult result;
  std::size_t repeats = 1;
};

enum class CampaignStop { kComplete, kBudget, kCancelled };

struct CampaignResult {
  SearchResult search;
  std::vector<CombinationDetail> details;
  std::optional<FixFinding> fixes;
  std::size_t trials = 0;  // asked for, those answered from the journal included
  CampaignStop stopped = CampaignStop::kComplete;
  std::vector<std::string> notices;  // beside those of the search
};

// What a trial with these fixes cost more than the same cell without, by name; only where both
// passed and both stated it.
TrialCost extra_cost(const CommandTarget& target, const Journal& journal, const FixCell& cell,
                     const std::vector<std::size_t>& fixes);

// The trial with the fixes on.
Assignment with_fixes(const CommandTarget& target, Assignment trial,
                      const std::vector<std::size_t>& fixes);

// Runs it. The journal must be of the target's trial space and description. Errors: UsageError,
// before any trial but the reference, for what search and make_evaluate refuse (an all-off run that
// fails); SetupError of the processes and the journal. A stop is no error: the result holds what
// was found.
CampaignResult run_campaign(const CommandTarget& target, Journal& journal,
                            const CampaignOptions& options);

}  // namespace culprit
