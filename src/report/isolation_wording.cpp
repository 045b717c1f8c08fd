#include "report/isolation_wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace culprit {
namespace {

std::string joined(const std::vector<std::string>& parts, const char* separator = " + ") {
  return fmt::format("{}", fmt::join(parts, separator));
}

const char* plural(std::size_t count) { return count == 1 ? "" : "s"; }

// 12345 -> 12,345
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

bool is_flaky_cell(const IsolationRecord& record, const FixCell& cell) {
  return std::any_of(cell.combinations.begin(), cell.combinations.end(),
                     [&](std::size_t c) { return record.result.search.combinations[c].flaky; });
}

// The effect that a verdict is due to, where its fingerprint tells something new.
std::optional<ObservedEffect> told_effect(FixVerdict verdict) {
  if (verdict == FixVerdict::kBreaksSomething) return ObservedEffect::kBreaks;
  if (verdict == FixVerdict::kTurnsErrorSilent) return ObservedEffect::kTurnsSilent;
  if (verdict == FixVerdict::kFailsDifferently) return ObservedEffect::kFailsDifferently;
  return std::nullopt;
}

}  // namespace

std::string label_of(const Space& space, const SettingSet& settings) {
  std::vector<std::string> parts;
  for (const Setting& setting : settings) {
    const Switch& which = space.switches[setting.which];
    parts.push_back(which.name + "=" + which.values[setting.value]);
  }
  return joined(parts);
}

std::string label_of(const Space& space, const Assignment& assignment) {
  SettingSet on;
  for (std::size_t i = 0; i < assignment.size(); ++i)
    if (assignment[i] + 1U != space.switches[i].values.size())
      on.push_back({static_cast<std::uint16_t>(i), assignment[i]});
  return on.empty() ? "all off" : label_of(space, on);
}

std::string combination_label(const Space& space, const SettingSet& settings) {
  if (settings.empty()) return "whatever the switches are";
  SettingSet on;
  std::vector<std::string> off;
  for (const Setting& setting : settings) {
    if (setting.value + 1U == space.switches[setting.which].values.size())
      off.push_back(space.switches[setting.which].name);
    else
      on.push_back(setting);
  }
  std::string text = label_of(space, on);
  if (off.empty()) return text;
  const char* verb = off.size() == 1 ? "is" : "are";
  return fmt::format("{}{}while {} {} off", text, text.empty() ? "" : ", ", joined(off, " and "),
                     verb);
}

std::string verdict_word(const Combination& combination) {
  return is_silent(combination.fingerprint) ? "SILENT" : "FAILS";
}

std::string search_in_words(const IsolationRecord& record) {
  const SearchResult& search = record.result.search;
  const std::size_t count = record.target.space().switches.size();
  if (search.exhaustive)
    return fmt::format("{} switch{}, all {} assignments run", count, count == 1 ? "" : "es",
                       grouped(search.distinct_assignments));
  return fmt::format("{} switch{}, {} assignments sampled", count, count == 1 ? "" : "es",
                     grouped(search.distinct_assignments));
}

std::string rate_in_words(const FailureRate& rate) {
  const double share =
      rate.runs == 0 ? 0.0
                     : 100.0 * static_cast<double>(rate.failures) / static_cast<double>(rate.runs);
  return fmt::format("{} of {} runs, {:.0f} % (95 %: {:.0f} to {:.0f} %)", rate.failures, rate.runs,
                     share, 100 * rate.interval.low, 100 * rate.interval.high);
}

std::string certificate_in_words(const Combination& combination) {
  const std::size_t count = combination.settings.size();
  std::size_t most_repeats = 0;
  for (const Necessity& necessity : combination.necessity)
    most_repeats = std::max(most_repeats, necessity.without.runs);
  const std::string gone = combination.flaky
                               ? fmt::format("it is not seen in up to {} runs", most_repeats)
                               : "it is gone";
  const std::string without =
      count == 0   ? "it fails whatever the switches are"
      : count == 1 ? fmt::format("without this setting {}", gone)
                   : fmt::format("without any one of the {} settings {}", count, gone);
  const std::string support =
      fmt::format("fails with {} setting{} of the other switches", combination.support.size(),
                  plural(combination.support.size()));
  std::string text = fmt::format("{}: {}; {}", combination.proven ? "proven minimal" : "not proven",
                                 without, support);
  if (!combination.proven)
    text = fmt::format("not proven minimal: {}; {}", combination.incomplete, support);
  return text;
}

std::string sizes_in_words(const IsolationRecord& record, std::size_t combination) {
  const auto& finding = record.result.details[combination].sizes;
  if (!finding) return "";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < finding->sizes.size(); ++i) {
    const SizeSpec& size = record.target.spec().sizes[finding->sizes[i]];
    std::string part = fmt::format("{} {}", size.name, finding->result.sizes[i]);
    if (!finding->result.is_smallest[i]) part += "*";
    if (finding->result.sizes[i] != size.values.back())
      part += fmt::format(" (of {})", size.values.back());
    parts.push_back(std::move(part));
  }
  const auto& smallest = finding->result.is_smallest;
  const bool has_open = std::find(smallest.begin(), smallest.end(), false) != smallest.end();
  return joined(parts, ", ") + (has_open ? " (* less can't be judged)" : "");
}

std::string needs_in_words(const IsolationRecord& record, std::size_t combination) {
  if (!record.scenario) return "";
  const int ranks = record.ranks[combination];
  return fmt::format("needs {} rank{}, no GPU", ranks, ranks == 1 ? "" : "s");
}

std::vector<std::string> coverage_in_words(const SearchResult& search) {
  std::vector<std::string> lines;
  for (const StrengthCoverage& each : search.coverage) {
    if (each.total == 0) continue;
    std::vector<std::string> parts;
    const auto add = [&](std::uint64_t count, const char* what) {
      // Rounded down, so that only all is 100 %.
      const double share = static_cast<double>(count * 1000 / each.total) / 10;
      if (count > 0) parts.push_back(fmt::format("{:.1f} % {}", share, what));
    };
    add(each.run, "run");
    add(each.invalid, "not allowed");
    add(each.masked, "masked by an earlier failure");
    add(each.left_out, "left out");
    lines.push_back(
        fmt::format("{}-way: {} (of {})", each.strength, joined(parts, ", "), grouped(each.total)));
  }
  return lines;
}

std::vector<std::string> other_findings(const IsolationRecord& record) {
  std::vector<std::string> lines;
  const auto add = [&](const SeenFailure& failure, const char* why) {
    lines.push_back(fmt::format("{}: seen in {} of {} run{} of {}; {}", failure.fingerprint,
                                failure.seen.failures, failure.seen.runs, plural(failure.seen.runs),
                                label_of(record.target.space(), failure.seen.assignment), why));
  };
  for (const SeenFailure& each : record.result.search.unreproduced)
    add(each, "did not come back often enough to be reduced");
  for (const SeenFailure& each : record.result.search.unreduced)
    add(each, "not reduced, the search was stopped first");
  return lines;
}

std::string stop_in_words(const IsolationRecord& record) {
  switch (record.result.stopped) {
    case CampaignStop::kComplete:
      return "";
    case CampaignStop::kBudget:
      return fmt::format("stopped by the budget after {} trials (--max-trials)",
                         record.result.trials);
    case CampaignStop::kCancelled:
      return fmt::format("stopped by {}", record.stop_signal);
  }
  return "";
}

std::string repeat_line(const IsolationRecord& record, std::size_t combination) {
  return record.target.shell_line(record.result.details[combination].smallest);
}

std::string fixes_label(const IsolationRecord& record, const FixAttribution& attribution) {
  std::vector<std::string> names;
  for (const std::size_t fix : attribution.fixes)
    names.push_back(record.target.spec().fixes[fix].name);
  return joined(names);
}

std::string verdict_in_words(const IsolationRecord& record, const FixAttribution& attribution) {
  const FixFinding& finding = *record.result.fixes;
  std::size_t failing = 0;
  std::size_t resolved = 0;
  bool has_flaky = false;
  for (const FixCellEffect& effect : attribution.effects) {
    const FixCell& cell = finding.cells[effect.cell];
    if (cell.combinations.empty() || effect.effect == ObservedEffect::kNotApplicable) continue;
    ++failing;
    resolved += effect.effect == ObservedEffect::kResolves ? 1 : 0;
    has_flaky |= effect.effect == ObservedEffect::kResolves && is_flaky_cell(record, cell);
  }
  std::string text = to_string(attribution.verdict);
  if (resolved > 0 || attribution.verdict == FixVerdict::kResolves)
    text += fmt::format(" ({} of {} failing cells)", resolved, failing);
  if (has_flaky) text += fmt::format(", not seen again in {} runs each", finding.repeats);
  // What it does instead, of the first cell that the verdict is about.
  for (const FixCellEffect& effect : attribution.effects) {
    if (effect.effect != told_effect(attribution.verdict)) continue;
    text += fmt::format(": {} gives {}", cell_label(record, finding.cells[effect.cell]),
                        effect.seen.trial.fingerprint);
    break;
  }
  return text;
}

std::string cost_in_words(const IsolationRecord& record, const FixAttribution& attribution) {
  const FixFinding& finding = *record.result.fixes;
  std::vector<std::pair<std::string, std::int64_t>> most;
  for (const FixCellEffect& effect : attribution.effects) {
    if (effect.effect != ObservedEffect::kStaysPassing) continue;
    for (const auto& [name, amount] :
         extra_cost(record.target, record.journal, finding.cells[effect.cell], attribution.fixes)) {
      const auto known = std::find_if(most.begin(), most.end(),
                                      [&](const auto& each) { return each.first == name; });
      if (known == most.end())
        most.emplace_back(name, amount);
      else
        known->second = std::max(known->second, amount);
    }
  }
  if (most.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, amount] : most) {
    std::string what = name;
    std::replace(what.begin(), what.end(), '_', ' ');
    if (amount != 0) parts.push_back(fmt::format("{:+} {}", amount, what));
  }
  return parts.empty() ? "nothing more" : joined(parts, ", ");
}

std::string effect_in_words(const IsolationRecord& record, const FixCellEffect& effect) {
  const std::size_t repeats = record.result.fixes->repeats;
  const std::string& fingerprint = effect.seen.trial.fingerprint;
  switch (effect.effect) {
    case ObservedEffect::kResolves:
      return repeats == 1 ? "resolves" : fmt::format("not seen in {} runs", repeats);
    case ObservedEffect::kStaysPassing:
      return repeats == 1 ? "still passes" : fmt::format("no failure in {} runs", repeats);
    case ObservedEffect::kSameFailure:
      return "no effect";
    case ObservedEffect::kFailsDifferently:
      return "fails differently: " + fingerprint;
    case ObservedEffect::kTurnsSilent:
      return "turns silent: " + fingerprint;
    case ObservedEffect::kBreaks:
      return "breaks: " + fingerprint;
    case ObservedEffect::kNotApplicable:
      return "not applicable";
    case ObservedEffect::kUnresolved:
      return "could not be judged";
  }
  return "";
}

std::string cell_label(const IsolationRecord& record, const FixCell& cell) {
  return label_of(record.target.trial_space(), cell.trial);
}

std::string nothing_found_in_words(const IsolationRecord& record) {
  if (record.has_failure()) return "FAILURES SEEN, none brought down to a combination";
  if (!record.is_complete()) return "no failure seen in what was run";
  if (!record.is_judged())
    return "CANNOT TELL: no failure seen, but some values were in no run that could be judged";
  if (record.result.search.flaky) return "no failure seen; each run was repeated";
  if (record.result.search.exhaustive) return "PASS: no combination of these switches fails";
  return "PASS: no run failed; what the runs cover stands below";
}

std::vector<std::string> all_notices(const IsolationRecord& record) {
  std::vector<std::string> notices = record.result.search.notices;
  for (const std::string& notice : record.result.notices) notices.push_back(notice);
  for (const std::string& notice : record.journal.notices()) notices.push_back(notice);
  // Sizes and fixes are counted where they are reported.
  const std::size_t num_toggles = record.target.space().switches.size();
  std::size_t searched = 0;
  std::size_t unresolved = 0;
  for (const TrialRecord& trial : record.journal.records()) {
    const Assignment& all = trial.assignment;
    Assignment toggles(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(num_toggles));
    if (record.target.trial(std::move(toggles)) != all) continue;
    ++searched;
    unresolved += trial.trial.status == Trial::Status::kUnresolved ? 1 : 0;
  }
  if (unresolved > 0)
    notices.push_back(fmt::format("{} of {} runs could not be judged", unresolved, searched));
  return notices;
}

}  // namespace culprit
