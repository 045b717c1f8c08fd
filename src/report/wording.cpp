#include "report/wording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "autograd/rules.hpp"

namespace culprit {
namespace {

// Where "view" stands: the fix without a cost of its own, a new handle on the same memory.
std::size_t view_index() {
  const auto& fixes = candidate_fixes();
  return static_cast<std::size_t>(
      std::find_if(fixes.begin(), fixes.end(), [](const Fix& fix) { return fix.name == "view"; }) -
      fixes.begin());
}

struct Range {
  std::int64_t low = 0, high = 0;
  bool empty = true;
  void add(std::int64_t value) {
    low = empty ? value : std::min(low, value);
    high = empty ? value : std::max(high, value);
    empty = false;
  }
  std::string text(const std::string& unit) const {
    return low == high ? fmt::format("{:+} {}", low, unit)
                       : fmt::format("{:+} to {:+} {}", low, high, unit);
  }
  bool is_zero() const { return low == 0 && high == 0; }
};

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

std::string ranks_in_words(const JobResult& job, const Place& place) {
  const auto num_ranks = 1 + std::count(place.ranks.begin(), place.ranks.end(), ',');
  if (num_ranks == job.matrix.base.tp && num_ranks > 1)
    return num_ranks == 2 ? "both ranks" : "all ranks";
  return (num_ranks == 1 ? "rank " : "ranks ") + place.ranks;
}

std::string place_in_words(const JobResult& job, const Outcome& outcome) {
  if (!outcome.first) return "";
  const Place& first = *outcome.first;
  const std::string ranks = ranks_in_words(job, first);
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
  // Only said when every value of every switch was run alone and passed.
  std::size_t singles = 0, on_values = 0;
  for (const Axis& axis : job.matrix.axes) on_values += axis.on.size();
  for (std::size_t i = 0; i < job.matrix.choices.size(); ++i)
    singles += num_on(job.matrix.choices[i]) == 1 && job.outcomes[i].outcome == OutcomeClass::kPass
                   ? 1
                   : 0;
  const bool singles_pass = singles == on_values;
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
    if (trial.effect == FixEffect::kFailsDifferently || trial.effect == FixEffect::kTurnsSilent ||
        trial.effect == FixEffect::kBreaks)
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
  bool silent = false, breaks = false;
  for (const MinimalFinding& finding : job.minimal)
    for (const auto& trials : finding.fixes) {
      const FixEffect effect = trials[fix].effect;
      if (effect == FixEffect::kNotApplicable) continue;
      ++applicable;
      cleared += effect == FixEffect::kClears ? 1 : 0;
      silent |= effect == FixEffect::kTurnsSilent;
      breaks |= effect == FixEffect::kBreaks;
    }
  if (applicable == 0) return "not applicable";
  std::string text = "clears some";
  if (cleared == applicable && applicable == 2 * job.minimal.size()) text = kClearsAll;
  if (cleared == 0) text = "clears none";
  if (breaks) text += ", breaks a passing cell";
  return silent ? text + ", turns an error silent" : text;
}

std::string fix_cost(const JobResult& job, std::size_t fix) {
  Range copied, held, collectives;
  bool clears = false;
  for (const MinimalFinding& finding : job.minimal) {
    const FixTrial& trial = finding.fixes[0][fix];
    const FixTrial& view = finding.fixes[0][view_index()];
    clears |= trial.effect == FixEffect::kClears;
    // Only a finished run has its full cost, and only beside another one of the same cell does it
    // mean something.
    if (trial.effect != FixEffect::kClears || view.effect != FixEffect::kClears) continue;
    copied.add((trial.outcome.copied_bytes - view.outcome.copied_bytes) / linears_run(trial.cell));
    held.add(trial.outcome.peak_bytes - view.outcome.peak_bytes);
    collectives.add(trial.outcome.collectives - view.outcome.collectives);
  }
  if (!clears) return "-";
  if (copied.empty) return "not known: view does not clear what this clears";
  std::string text = copied.is_zero() ? "0 bytes" : copied.text("bytes copied a linear");
  if (!held.is_zero()) text += ", " + held.text("bytes held at peak");
  if (!collectives.is_zero()) text += ", " + collectives.text("collectives");
  return text;
}

std::vector<std::string> other_framework_in_words(const JobResult& job) {
  const auto words = [&](const MinimalFinding& finding) -> std::string {
    const OtherFramework& other = *finding.other_framework;
    if (other.outcome.outcome != OutcomeClass::kPass) {
      const bool alike = fingerprint(other.outcome) == fingerprint(job.outcomes[finding.index]);
      return fmt::format("fails {} PyTorch's rules{}: {}", alike ? "under" : "otherwise under", alike ? " too" : "",
                         outcome_in_words(other.outcome));
    }
    const bool one = other.rules.size() == 1;
    std::string which;
    for (const std::size_t rule : other.rules) which += (which.empty() ? "" : "; ") + named_rules()[rule].meaning;
    if (other.num_tried == 0)
      which = "single rules were not tried";
    else if (which.empty())
      which = fmt::format("none of the {} single rules that were tried does it", other.num_tried);
    else if (!one)
      which = "any one of: " + which;
    const std::string& own = job.matrix.base.framework;
    return fmt::format("fails under {}'s rule{}, passes under PyTorch's: {}", own == Cell{}.framework ? "Paddle" : own,
                       one ? "" : "s", which);
  };
  std::vector<std::string> lines;
  bool alike = true;
  for (const MinimalFinding& finding : job.minimal) {
    if (!finding.other_framework) continue;
    const std::string line = words(finding);
    alike &= lines.empty() || lines.front() == line;
    lines.push_back(line);
  }
  if (alike && lines.size() == job.minimal.size() && !lines.empty()) return {lines.front()};
  std::size_t next = 0;
  for (const MinimalFinding& finding : job.minimal)
    if (finding.other_framework) {
      lines[next] = minimal_label(job, finding) + ": " + lines[next];
      ++next;
    }
  return lines;
}

std::string left_out_in_words(const JobResult& job) {
  std::string text;
  for (const std::string& line : job.matrix.left_out)
    text += (text.empty() ? "not in the matrix: " : "; ") + line;
  return text;
}

std::string verdict_in_words(const JobResult& job) {
  if (job.minimal.empty()) return "no combination of these switches fails";
  std::string text, fixes;
  for (const MinimalFinding& finding : job.minimal)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", minimal_label(job, finding),
                        row_of(job.outcomes[finding.index].outcome).silent ? " (silent)" : "");
  for (std::size_t f = 0; f < candidate_fixes().size(); ++f)
    if (fix_summary(job, f) == kClearsAll)
      fixes += (fixes.empty() ? "" : ", ") + candidate_fixes()[f].name;
  return fmt::format("fails with {}; {}", text,
                     fixes.empty() ? "no fix tried clears all" : "cleared by " + fixes);
}

std::string path_of(const FindingReproductions& finding, const Reproduction& file) {
  return file.status == Reproduction::Status::kNotWritten ? file.name
                                                          : finding.folder + "/" + file.name;
}

std::vector<std::string> reproductions_in_words(const RunRecord& record) {
  struct Tally {
    std::string name;
    std::size_t shown = 0;
    std::vector<std::string> others;  // without repetition
  };
  std::vector<Tally> tallies;
  for (const FindingReproductions& finding : record.reproductions)
    for (const Reproduction& file : finding.files) {
      auto tally = std::find_if(tallies.begin(), tallies.end(),
                                [&](const Tally& each) { return each.name == file.name; });
      if (tally == tallies.end()) tally = tallies.insert(tally, {.name = file.name, .others = {}});
      if (file.status == Reproduction::Status::kShown) {
        ++tally->shown;
        continue;
      }
      std::string other = fmt::format("{}: {}", name_of(file.status), file.words);
      if (std::find(tally->others.begin(), tally->others.end(), other) == tally->others.end())
        tally->others.push_back(std::move(other));
    }
  std::vector<std::string> lines;
  for (const Tally& tally : tallies) {
    std::string line = tally.name + ":";
    if (tally.shown > 0)
      line += fmt::format(" shown for {} of {}", tally.shown, record.reproductions.size());
    for (const std::string& other : tally.others)
      line += (line.ends_with(':') ? " " : "; ") + other;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (std::any_of(word.begin(), word.end(),
                    [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
      // A shell reads control characters back from $'...' only.
      if (!line.empty()) line += ' ';
      line += "$'";
      for (const char c : word) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          line += fmt::format("\\x{:02x}", c);
        else if (c == '\'' || c == '\\')
          line += std::string("\\") + c;
        else
          line += c;
      }
      line += '\'';
      continue;
    }
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-+=./,:@%") == std::string::npos;
    if (!line.empty()) line += ' ';
    if (word.starts_with("~/") &&
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789_-+=./,:@%",
                               1) == std::string::npos) {
      line += word;  // a masked home folder: quoted it would not be one
      continue;
    }
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

std::string program_of(const RunRecord& record) {
  return (std::filesystem::path(record.bin_folder) / record.scenario->name).string();
}

std::vector<std::string> triage_in_words(const RunRecord& record, std::size_t job) {
  std::vector<std::string> lines;
  if (job >= record.triage.size() || record.triage[job].empty()) return lines;
  const JobResult& result = record.jobs[job];
  for (std::size_t m = 0; m < result.minimal.size(); ++m)
    lines.push_back(fmt::format("{}: {}", minimal_label(result, result.minimal[m]),
                                record.triage[job][m].in_words));
  // Mostly the same for all: told once.
  for (const Triage& triage : record.triage[job])
    for (const TriageRow& row : triage.rows) {
      if (row.absent.empty()) continue;
      std::string line = fmt::format("not here: {}: {}", row.backend, row.absent);
      if (std::find(lines.begin(), lines.end(), line) == lines.end())
        lines.push_back(std::move(line));
    }
  return lines;
}

bool runs_through_mpi(const RunRecord& record) {
  const auto& flags = record.runtime_flags;
  return std::find(flags.begin(), flags.end(), "--comm=mpi") != flags.end();
}

std::string repeat_command(const RunRecord& record, const Cell& cell) {
  std::vector<std::string> words;
  if (runs_through_mpi(record))
    words = {"mpirun", "--oversubscribe", "-np", std::to_string(cell.tp * cell.pp)};
  words.push_back(program_of(record));
  for (const auto& flags : {record.runtime_flags, program_flags(cell)})
    words.insert(words.end(), flags.begin(), flags.end());
  return shell_line(words);
}

}  // namespace culprit
