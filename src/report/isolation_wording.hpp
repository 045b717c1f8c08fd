// How the findings of an isolation are put into words; shared by its writers, so that terminal and
// files say the same. Text from the target is raw in here.
#pragma once

#include <string>
#include <vector>

#include "report/isolation_record.hpp"

namespace culprit {

// "skip=--skip + acc=--acc 4"
std::string label_of(const Space& space, const SettingSet& settings);
// The switches of an assignment that are not off: "skip=--skip"; "all off". Sizes and fixes of a
// trial count as switches.
std::string label_of(const Space& space, const Assignment& assignment);
// The settings of a combination, those that must be off apart: "skip=--skip, while acc is off".
std::string combination_label(const Space& space, const SettingSet& settings);
// "SILENT" or "FAILS"
std::string verdict_word(const Combination& combination);
// "40 switches, covering arrays up to 3-way" or "5 switches, all 48 assignments run"
std::string search_in_words(const IsolationRecord& record);
// "7 of 20 runs, 35 % (95 %: 15 to 59 %)"
std::string rate_in_words(const FailureRate& rate);
// One line: "proven minimal: without either of the 2 settings it passes; fails in 8 runs under
// other switches", or what is missing.
std::string certificate_in_words(const Combination& combination);
// "tp 2*, acc 1 (of 4) (* less can't be judged)"; "*" marks one whose next lower value can't be
// run, or was not judged. Empty without sizes.
std::string sizes_in_words(const IsolationRecord& record, std::size_t combination);
// "needs 2 ranks, no GPU"; empty for a command, of which nobody knows.
std::string needs_in_words(const IsolationRecord& record, std::size_t combination);
// A line a strength: "2-way: 98.1 % run, 1.9 % masked (of 3,120)"
std::vector<std::string> coverage_in_words(const SearchResult& search);
// A line for each failure that was seen and is in no combination.
std::vector<std::string> other_findings(const IsolationRecord& record);
// "stopped by SIGINT", "stopped by the budget of 400 trials (--max-trials)"; empty when complete.
std::string stop_in_words(const IsolationRecord& record);
// The shell line that repeats the combination at its smallest sizes.
std::string repeat_line(const IsolationRecord& record, std::size_t combination);

// "view", "view + copy"
std::string fixes_label(const IsolationRecord& record, const FixAttribution& attribution);
// "resolves 3 of 3"; of a flaky failure "not seen again in 14 runs each: 3 of 3"
std::string verdict_in_words(const IsolationRecord& record, const FixAttribution& attribution);
// What it costs at the passing cells: "+96 copied_bytes"; "nothing more" where all is equal; empty
// where nothing is known.
std::string cost_in_words(const IsolationRecord& record, const FixAttribution& attribution);
// What it did to one cell: "resolves", "turns silent: DUMP:differs:w", ...
std::string effect_in_words(const IsolationRecord& record, const FixCellEffect& effect);
// A cell of the fixes: its label.
std::string cell_label(const IsolationRecord& record, const FixCell& cell);

// The verdict where there is no combination.
std::string nothing_found_in_words(const IsolationRecord& record);

// Notices of the search and the campaign, and of the journal.
std::vector<std::string> all_notices(const IsolationRecord& record);

}  // namespace culprit
