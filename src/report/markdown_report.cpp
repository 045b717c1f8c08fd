#include "report/markdown_report.hpp"

#include <fmt/format.h>

#include "base/version.hpp"
#include "report/markup.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

std::string symbol(const Outcome& outcome) {
  if (outcome.outcome == OutcomeClass::kPass) return "✅ PASS";
  return (row_of(outcome.outcome).silent ? "⚠️ " : "❌ ") + outcome_in_words(outcome);
}

std::string fold(const std::string& summary, const std::string& body) {
  return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n\n", summary, body);
}

std::string job_sections(const RunRecord& record, const JobResult& job) {
  std::string text;
  if (job.minimal.empty()) text += "**PASS**: no combination of these switches fails.\n\n";
  for (const MinimalFinding& finding : job.minimal) {
    const Outcome& outcome = job.outcomes[finding.index];
    text +=
        fmt::format("- **{}** `{}`: {} ({})\n", verdict_word(outcome), minimal_label(job, finding),
                    outcome_in_words(outcome), place_in_words(job, outcome));
  }
  if (!job.minimal.empty()) text += fmt::format("\n{}.\n\n", not_needed_in_words(job));
  for (const std::string& difference : job.differences)
    text += fmt::format("> not as declared: {}\n\n", difference);

  if (!job.minimal.empty()) {
    text += "### Fixes\n\n| fix |";
    std::string rule = "| --- |";
    for (const MinimalFinding& finding : job.minimal) {
      text += fmt::format(" {} |", minimal_label(job, finding));
      rule += " --- |";
    }
    text += " cost |\n" + rule + " --- |\n";
    for (std::size_t f = 0; f < candidate_fixes().size(); ++f) {
      const Fix& fix = candidate_fixes()[f];
      text +=
          fmt::format("| {}{} |", fix.name, fix.meaning.empty() ? "" : " (" + fix.meaning + ")");
      for (const MinimalFinding& finding : job.minimal)
        text += fmt::format(" {} |", fix_in_words(finding, f));
      text += fmt::format(" {} |\n", fix_cost(job, f));
    }
    text += "\nCost is counted during the trials and compared with a new handle (view).\n\n";
    text += "### Repeat a minimal cell\n\n```\n";
    for (const MinimalFinding& finding : job.minimal)
      text += repeat_command(record, cell_of(job.matrix, job.matrix.choices[finding.index])) + "\n";
    text += "```\n\n";
  }
  std::string table = "| switches on | outcome |\n| --- | --- |\n";
  for (std::size_t i = 0; i < job.matrix.choices.size(); ++i)
    table += fmt::format("| {} | {} |\n", label_of(job.matrix, job.matrix.choices[i]),
                         symbol(job.outcomes[i]));
  text += fold(fmt::format("Matrix: {} cells", job.matrix.choices.size()), table);

  std::string evidence;
  for (const MinimalFinding& finding : job.minimal) {
    const Outcome& outcome = job.outcomes[finding.index];
    evidence += fmt::format("**{}**: `{}`", minimal_label(job, finding), fingerprint(outcome));
    if (!outcome.where.empty()) evidence += fmt::format(", at {}", markdown_text(outcome.where));
    if (!outcome.message.empty())
      evidence += fmt::format("\n\n> {}", markdown_text(outcome.message));
    evidence += "\n\n";
  }
  if (!evidence.empty()) text += fold("Evidence", evidence);
  return text;
}

std::string launch_section(const LaunchNotes& launch) {
  if (launch.file.empty()) return "";
  const auto list = [](const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += fmt::format("- {}\n", markdown_text(line));
    return text.empty() ? "- none\n" : text;
  };
  return fmt::format("Made from the launch script `{}` ({}), which was read and not run.\n\n",
                     markdown_text(launch.file), markdown_text(launch.dialect)) +
         fold("What was read from the launch script",
              fmt::format(
                  "Modelled:\n{}\nRecognised, not modelled:\n{}\nNot recognised or not known:\n{}",
                  list(launch.modelled), list(launch.not_modelled), list(launch.unknown)));
}

}  // namespace

std::string markdown_report(const RunRecord& record) {
  std::string text = fmt::format("## culprit: {}\n\n", record.scenario->title);
  text += fmt::format(
      "{}; {} cells, {}.\n\n", layout_in_words(record, record.jobs.front()), record.num_trials,
      record.many_cells_a_process ? "several to a process" : "each a process of its own");
  text += launch_section(record.launch);
  for (const JobResult& job : record.jobs) {
    if (!job.title.empty()) text += fmt::format("### {}\n\n", job.title);
    text += job_sections(record, job);
  }
  text += fmt::format("### Command and environment\n\n```\n{}\n```\n\n",
                      escape_controls(shell_line(record.command)));
  for (const auto& [name, value] : record.environment)
    text += fmt::format("- {}: {}\n", name, markdown_text(value));
  text += fmt::format("\nUpstream: {}\n", record.scenario->upstream);
  return text;
}

}  // namespace culprit
