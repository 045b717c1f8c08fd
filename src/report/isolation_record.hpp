// Stage: report. Everything one `culprit isolate` found, as its writers take it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "campaign/campaign.hpp"
#include "report/run_record.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

// All text of the target is the user's or a program's, raw: writers escape it for their format.
struct IsolationRecord {
  const CommandTarget& target;
  const Journal& journal;
  const CampaignResult& result;
  // A scenario as the target: who it is and how many ranks each combination needs at its smallest
  // sizes. Null and empty for a command.
  const Scenario* scenario = nullptr;
  std::vector<int> ranks;
  LaunchNotes launch;                // empty when not made from a launch script
  std::string stop_signal;           // "SIGINT" where one stopped it
  std::size_t resumed_trials = 0;    // finished trials that the journal had at the start
  std::vector<std::string> command;  // what the user typed, program first
  std::vector<std::pair<std::string, std::string>> environment;
  double wall_seconds = 0.0;

  bool is_complete() const { return result.stopped == CampaignStop::kComplete; }
  // False when a value of some switch was in no run that could be judged.
  bool is_judged() const {
    const auto& coverage = result.search.coverage;
    return coverage.empty() || coverage.front().left_out == 0;
  }
  // Something failed, also where it was not brought down to a combination.
  bool has_failure() const {
    const SearchResult& search = result.search;
    return !search.combinations.empty() || !search.unreproduced.empty() ||
           !search.unreduced.empty();
  }
};

}  // namespace culprit
