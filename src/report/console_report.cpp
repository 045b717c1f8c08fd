#include "report/console_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

Tone tone_of(const Outcome& outcome) {
  if (outcome.outcome == OutcomeClass::kPass) return Tone::kPass;
  return row_of(outcome.outcome).silent ? Tone::kSilent : Tone::kFail;
}

std::string padded(const std::string& text, int width) {
  return text +
         std::string(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
}

std::string left_out_line(const JobResult& job, const Style& style) {
  const std::string text = left_out_in_words(job);
  return text.empty() ? "" : fmt::format("         {}\n", style.paint(Tone::kUnknown, text));
}

std::string minimal_lines(const JobResult& job, const Style& style) {
  if (job.minimal.empty())
    return style.paint(Tone::kPass, "PASS     no combination of these switches fails") + "\n" +
           left_out_line(job, style);
  int width = 0;
  for (const MinimalFinding& finding : job.minimal)
    width = std::max(width, display_width(minimal_label(job, finding)));
  std::string text;
  for (const MinimalFinding& finding : job.minimal) {
    const Outcome& outcome = job.outcomes[finding.index];
    text += fmt::format("{}   {}   {}\n",
                        style.paint(tone_of(outcome), padded(verdict_word(outcome), 6)),
                        padded(minimal_label(job, finding), width), outcome_in_words(outcome));
    if (const std::string place = place_in_words(job, outcome); !place.empty())
      text += fmt::format("         {}   {}\n", padded("", width),
                          style.paint(Tone::kDim, "(" + place + ")"));
  }
  for (const std::string& line : other_framework_in_words(job))
    text += fmt::format("         {}\n", style.paint(Tone::kStrong, line));
  return text + fmt::format("         {}\n", style.paint(Tone::kDim, not_needed_in_words(job))) +
         left_out_line(job, style);
}

std::string fix_lines(const JobResult& job, const Style& style) {
  if (job.minimal.empty()) return "";
  int width = 0;
  for (const MinimalFinding& finding : job.minimal)
    width = std::max(width, display_width(minimal_label(job, finding)));
  std::string text = fmt::format(
      "\n{}\n",
      style.paint(Tone::kStrong, padded("fix", 23) + padded("in all", 38) + "cost, against view"));
  for (std::size_t f = 0; f < candidate_fixes().size(); ++f) {
    const Fix& fix = candidate_fixes()[f];
    const std::string summary = fix_summary(job, f);
    const bool clears_all = summary == "clears all";
    text += padded(fix.name, 23) +
            style.paint(clears_all ? Tone::kPass : Tone::kDim, padded(summary, 38)) +
            fix_cost(job, f) + "\n";
    if (clears_all || summary == "not applicable") continue;
    for (const MinimalFinding& finding : job.minimal)
      text += fmt::format("  {}{}\n", padded(minimal_label(job, finding) + ":", width + 3),
                          fix_in_words(finding, f));
  }
  return text;
}

std::string matrix_lines(const JobResult& job, const Style& style, int columns) {
  std::string text;
  std::size_t group = job.matrix.choices.size();
  static const char* const names[] = {"base", "each switch alone", "pairs"};
  // The outcome stands before the switches where a narrow terminal would cut it off behind them.
  constexpr int kNarrow = 110;
  int label_width = 0;
  for (const Choice& choice : job.matrix.choices)
    label_width = std::max(label_width, display_width(label_of(job.matrix, choice)));
  for (std::size_t i = 0; i < job.matrix.choices.size(); ++i) {
    const std::size_t on = num_on(job.matrix.choices[i]);
    if (on != group) {
      group = on;
      text +=
          fmt::format("\n{}\n", style.paint(Tone::kStrong, on < 3 ? names[on]
                                                           : on == job.matrix.axes.size()
                                                               ? "all"
                                                               : fmt::format("{} switches", on)));
    }
    const Outcome& outcome = job.outcomes[i];
    const std::string label = label_of(job.matrix, job.matrix.choices[i]);
    const std::string line =
        columns < kNarrow
            ? fmt::format("{}  {}",
                          padded(outcome.kind.empty() ? std::string(row_of(outcome.outcome).name)
                                                      : outcome.kind,
                                 12),
                          label)
            : fmt::format("{}  {}", padded(label, label_width), outcome_in_words(outcome));
    text += fmt::format("  {} {}\n", style.paint(tone_of(outcome), style.symbol(tone_of(outcome))),
                        cut_to_width(line, std::max(20, columns - 4)));
  }
  return text;
}

}  // namespace

std::string console_report(const RunRecord& record, const Style& style, int columns) {
  std::string text = fmt::format("{}   {}   {} cells in {:.1f} s\n",
                                 style.paint(Tone::kStrong, fmt::format("culprit {}", kVersion)),
                                 layout_in_words(record, record.jobs.front()), record.num_trials,
                                 record.wall_seconds);
  for (const JobResult& job : record.jobs) {
    if (!job.title.empty()) text += fmt::format("\n{}\n", style.paint(Tone::kStrong, job.title));
    text += "\n" + minimal_lines(job, style);
    for (const std::string& difference : job.differences)
      text += style.mark(Tone::kUnknown, "not as declared: " + difference) + "\n";
    text += fix_lines(job, style);
  }
  for (const JobResult& job : record.jobs) {
    if (record.jobs.size() > 1)
      text += fmt::format("\n{}\n", style.paint(Tone::kStrong, job.title));
    text += matrix_lines(job, style, columns);
  }
  // Once more at the end, where a long matrix leaves the reader.
  text += "\n";
  for (const JobResult& job : record.jobs)
    text += fmt::format("{}{}{}\n", style.paint(Tone::kStrong, "verdict: "), verdict_in_words(job),
                        job.title.empty() ? "" : fmt::format(" ({})", job.title));
  for (std::size_t job = 0; job < record.jobs.size(); ++job)
    for (const std::string& line : triage_in_words(record, job))
      text += fmt::format("{}{}\n", style.paint(Tone::kStrong, "triage: "), escape_controls(line));
  return text;
}

}  // namespace culprit
