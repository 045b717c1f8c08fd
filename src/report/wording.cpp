#include "report/wording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace culprit {
namespace {

const FixTrial* clearing_trial(const JobResult& job, std::size_t fix, const FixTrial** baseline) {
  // "view" is the zero-cost fix: a new handle on the same memory.
  const auto& fixes = candidate_fixes();
  const auto view = static_cast<std::size_t>(
      std::find_if(fixes.begin(), fixes.end(), [](const Fix& f) { return f.name == "view"; }) -
      fixes.begin());
  for (const MinimalFinding& finding : job.minimal) {
    const FixTrial& trial = finding.fixes[0][fix];
    const FixTrial& zero = finding.fixes[0][view];
    if (trial.effect != FixEffect::kClears) continue;
    *baseline = zero.effect == FixEffect::kClears ? &zero : nullptr;
    return &trial;
  }
  return nullptr;
}

std::int64_t linears_run(const Cell& cell) {
  return static_cast<std::int64_t>(cell.blocks) * cell.fan_out * cell.acc * cell.tp;
}

}  // namespace

std::string layout_in_words(const RunRecord& record, const JobResult& job) {
  Cell largest = job.matrix.base;
  for (const Axis& axis : job.matrix.axes)
    if (axis.on[0].field == "pp") field("pp").set(largest, axis.on[0].value);
  return fmt::format("tp {} x pp {}, {} micro-batch{}, {}", largest.tp, largest.pp, largest.acc,
                     largest.acc == 1 ? "" : "es", record.ran_on);
}

std::string verdict_word(const Outcome& outcome) {
  if (outcome.outcome == OutcomeClass::kPass) return "PASS";
  return row_of(outcome.outcome).silent ? "SILENT" : "FAILS";
}

std::string outcome_in_words(const Outcome& outcome) {
  const auto& first = outcome.first;
  switch (outcome.outcome) {
    case OutcomeClass::kPass:
      return "PASS";
    case OutcomeClass::kWrongGrad:
      return fmt::format("gradient of {} off by {:.2f} x its largest entry, no error",
                         outcome.worst_parameter.substr(0, outcome.worst_parameter.find('@')),
                         outcome.worst.value_or(0.0));
    case OutcomeClass::kMissingGrad:
      return fmt::format("no gradient for {}, no error",
                         outcome.where.substr(0, outcome.where.find('@')) +
                             (outcome.where.find(' ') == std::string::npos ? "" : " and others"));
    case OutcomeClass::kWrongLoss:
      return fmt::format("loss {:.6g} is wrong, no error", outcome.loss.value_or(0.0));
    default:
      break;
  }
  std::string text =
      outcome.kind.empty() ? std::string(row_of(outcome.outcome).name) : outcome.kind;
  if (first && first->phase != "start" && first->phase != "finish")
    text += fmt::format(" in the {} of micro-batch {}", first->phase, first->micro_batch);
  return text;
}

std::string place_in_words(const JobResult& job, const Outcome& outcome) {
  if (!outcome.first) return "";
  const Place& first = *outcome.first;
  const auto num_ranks = 1 + std::count(first.ranks.begin(), first.ranks.end(), ',');
  std::string ranks = "rank " + first.ranks;
  if (num_ranks == job.matrix.base.tp && num_ranks > 1)
    ranks = num_ranks == 2 ? "both ranks" : "all ranks";
  if (!first.tensor.empty())
    return fmt::format("stage {}, {}, {} of micro-batch {}, first seen in {}", first.stage, ranks,
                       first.phase, first.micro_batch, first.tensor);
  return fmt::format("stage {}, {}", first.stage, ranks);
}

std::string minimal_label(const JobResult& job, const MinimalFinding& finding) {
  return label_of(job.matrix, job.matrix.choices[finding.index]);
}

std::string not_needed_in_words(const JobResult& job) {
  if (job.minimal.empty()) return "";
  std::vector<std::string> parts;
  bool singles_pass = true;
  for (std::size_t i = 0; i < job.matrix.choices.size(); ++i)
    if (num_on(job.matrix.choices[i]) == 1)
      singles_pass &= job.outcomes[i].outcome == OutcomeClass::kPass;
  const bool one_suffices =
      std::all_of(job.minimal.begin(), job.minimal.end(), [](const MinimalFinding& finding) {
        return finding.one_micro_batch.outcome != OutcomeClass::kPass;
      });
  std::string text = singles_pass ? "each switch alone passes; " : "";
  text += "not needed: any further switch";
  if (one_suffices && job.matrix.base.acc > 1)
    text += fmt::format(", {} micro-batches (1 suffices)", job.matrix.base.acc);
  return text + ", a GPU";
}

std::string fix_in_words(const MinimalFinding& finding, std::size_t fix) {
  const auto words = [](const FixTrial& trial) {
    std::string text{effect_name(trial.effect)};
    if (trial.effect == FixEffect::kFailsDifferently || trial.effect == FixEffect::kTurnsSilent)
      text += fmt::format(": {}", trial.outcome.kind.empty()
                                      ? std::string(row_of(trial.outcome.outcome).name)
                                      : trial.outcome.kind);
    if (trial.effect == FixEffect::kStillWrong)
      text += trial.outcome.outcome == OutcomeClass::kMissingGrad
                  ? " (missing)"
                  : fmt::format(" ({:.2f})", trial.outcome.worst.value_or(0.0));
    return text;
  };
  const FixTrial& one = finding.fixes[0][fix];
  const FixTrial& two = finding.fixes[1][fix];
  if (one.effect == FixEffect::kNotApplicable) return "not applicable";
  std::string text = words(one);
  if (two.effect != one.effect || words(two) != words(one)) {
    const bool both_wrong =
        one.effect == FixEffect::kStillWrong && two.effect == FixEffect::kStillWrong;
    if (!both_wrong) text += fmt::format("; 2 linears: {}", words(two));
  }
  return text;
}

std::string fix_summary(const JobResult& job, std::size_t fix) {
  std::size_t cleared = 0, applicable = 0;
  bool silent = false;
  for (const MinimalFinding& finding : job.minimal)
    for (const auto& trials : finding.fixes) {
      const FixEffect effect = trials[fix].effect;
      if (effect == FixEffect::kNotApplicable) continue;
      ++applicable;
      cleared += effect == FixEffect::kClears ? 1 : 0;
      silent |= effect == FixEffect::kTurnsSilent;
    }
  if (applicable == 0) return "not applicable";
  std::string text = "clears some";
  if (cleared == applicable && applicable == 2 * job.minimal.size()) text = "clears all";
  if (cleared == 0) text = "clears none";
  return silent ? text + ", turns an error silent" : text;
}

std::string fix_cost(const JobResult& job, std::size_t fix) {
  const FixTrial* baseline = nullptr;
  const FixTrial* trial = clearing_trial(job, fix, &baseline);
  if (!trial) return "-";
  if (!baseline) return fmt::format("{} bytes copied in all", trial->outcome.copied_bytes);
  const auto copied = trial->outcome.copied_bytes - baseline->outcome.copied_bytes;
  const auto held = trial->outcome.peak_bytes - baseline->outcome.peak_bytes;
  const auto collectives = trial->outcome.collectives - baseline->outcome.collectives;
  std::string text =
      copied == 0 ? "0 bytes"
                  : fmt::format("{:+} bytes copied a linear", copied / linears_run(trial->cell));
  if (held != 0) text += fmt::format(", {:+} held at peak", held);
  if (collectives != 0) text += fmt::format(", {:+} collectives", collectives);
  return text;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-+=./,:@%") == std::string::npos;
    if (!line.empty()) line += ' ';
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::string repeat_command(const RunRecord& record, const Cell& cell) {
  std::vector<std::string> words{
      (std::filesystem::path(record.bin_folder) / record.scenario->name).string()};
  for (const auto& flags : {record.runtime_flags, program_flags(cell)})
    words.insert(words.end(), flags.begin(), flags.end());
  return shell_line(words);
}

}  // namespace culprit
