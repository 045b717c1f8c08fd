#include "report/markdown_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/version.hpp"
#include "report/explain.hpp"
#include "report/known_reports.hpp"
#include "report/markup.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"
#include "trace/collective_diff.hpp"

namespace culprit {
namespace {

std::string symbol(const Outcome& outcome) {
  if (outcome.outcome == OutcomeClass::kPass) return "✅ PASS";
  return (row_of(outcome.outcome).silent ? "⚠️ " : "❌ ") +
         markdown_text(outcome_in_words(outcome));
}

// A piece of the report that may be left out, or cut between its lines, where the whole is too
// long.
struct Part {
  std::string summary;  // set: folded under it
  std::string head;     // stays as long as the part does
  std::vector<std::string> lines;
  bool whole = false;  // left out rather than cut
};

std::string rendered(const Part& part, std::size_t num_lines) {
  if (part.whole && num_lines < part.lines.size())
    return fmt::format("({}: left out for its length, see the run's folder)\n\n", part.summary);
  std::string text = part.head;
  for (std::size_t i = 0; i < num_lines; ++i) text += part.lines[i];
  if (num_lines < part.lines.size())
    text += fmt::format(
        "\n{} of {} lines left out: a tracker takes {} characters. report.html and report.json "
        "hold all.\n",
        part.lines.size() - num_lines, part.lines.size(), kMarkdownLimit);
  if (part.summary.empty()) return text + "\n";
  return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n\n", part.summary, text);
}

// The lines at the top: what fails, the worst first.
std::string verdicts(const RunRecord& record) {
  std::string text;
  for (const JobResult& job : record.jobs) {
    if (!job.title.empty()) text += fmt::format("{}:\n\n", markdown_text(job.title));
    if (job.minimal.empty()) text += "**PASS**: no combination of these switches fails.\n\n";
    for (const MinimalFinding& finding : job.minimal) {
      const Outcome& outcome = job.outcomes[finding.index];
      text += fmt::format("- **{}** `{}`: {} ({})\n", verdict_word(outcome),
                          minimal_label(job, finding), markdown_text(outcome_in_words(outcome)),
                          markdown_text(place_in_words(job, outcome)));
    }
    if (!job.minimal.empty()) text += "\n";
    for (const std::string& line : other_framework_in_words(job)) text += fmt::format("{}.\n\n", markdown_text(line));
    if (!job.minimal.empty()) text += fmt::format("{}.\n\n", markdown_text(not_needed_in_words(job)));
    if (const std::string left_out = left_out_in_words(job); !left_out.empty())
      text += markdown_text(left_out) + ".\n\n";
    for (const std::string& difference : job.differences)
      text += fmt::format("> not as declared: {}\n\n", markdown_text(difference));
  }
  return text;
}

std::string first_bad_section(const RunRecord& record, const JobResult& job) {
  std::string text = "### First bad value\n\n";
  bool has_number = false;
  for (const MinimalFinding& finding : job.minimal) {
    const Outcome& outcome = job.outcomes[finding.index];
    text += fmt::format("- {}\n", markdown_text(first_bad_in_words(
                                      job, job.matrix.choices[finding.index], outcome)));
    has_number |= outcome.worst.has_value();
  }
  if (has_number)
    text += fmt::format("\nHeld against: {}.\n", markdown_text(bounds_in_words(record)));
  return text + "\n";
}

std::string why_section(const RunRecord& record, const JobResult& job) {
  std::string text = "### Why each is minimal, and at which scale\n\n";
  for (const MinimalFinding& finding : job.minimal) {
    text += fmt::format("- `{}`\n", minimal_label(job, finding));
    for (const std::string& line : certificate_in_words(job, finding))
      text += fmt::format("  - {}\n", markdown_text(line));
    text += fmt::format("  - smallest scale: {}\n", markdown_text(smallest_in_words(job, finding)));
    for (const std::string& line : known_in_words(record, job, finding))
      text += fmt::format("  - {}\n", line);
  }
  return text + "\n";
}

// The minimal combinations on every back end; empty: not asked for.
std::string triage_section(const RunRecord& record, std::size_t job) {
  const std::vector<std::string> lines = triage_in_words(record, job);
  if (lines.empty()) return "";
  std::string text = "### On which back ends\n\n";
  for (const std::string& line : lines) text += fmt::format("- {}\n", markdown_text(line));
  text += "\n| combination | back end | it | its passing neighbour | with the wait |\n";
  text += "| --- | --- | --- | --- | --- |\n";
  const auto shown = [](const std::optional<std::string>& print) {
    return !print ? std::string("-") : print->empty() ? std::string("PASS") : *print;
  };
  for (std::size_t m = 0; m < record.triage[job].size(); ++m)
    for (const TriageRow& row : record.triage[job][m].rows)
      if (row.absent.empty())
        text += fmt::format("| {} | {} | {} | {} | {} |\n",
                            minimal_label(record.jobs[job], record.jobs[job].minimal[m]),
                            markdown_text(row.backend), markdown_text(shown(row.failing)),
                            markdown_text(shown(row.twin)), markdown_text(shown(row.waited)));
  return text + "\n";
}

std::string fixes_section(const JobResult& job) {
  std::string text = "### Fixes\n\n| fix |", rule = "| --- |";
  for (const MinimalFinding& finding : job.minimal) {
    text += fmt::format(" {} |", minimal_label(job, finding));
    rule += " --- |";
  }
  text += " cost |\n" + rule + " --- |\n";
  for (std::size_t f = 0; f < candidate_fixes().size(); ++f) {
    const Fix& fix = candidate_fixes()[f];
    text += fmt::format("| {}{} |", fix.name, fix.meaning.empty() ? "" : " (" + fix.meaning + ")");
    for (const MinimalFinding& finding : job.minimal)
      text += fmt::format(" {} |", markdown_text(fix_in_words(finding, f)));
    text += fmt::format(" {} |\n", fix_cost(job, f));
  }
  return text + "\nCost is counted during the trials and compared with a new handle (view).\n\n";
}

std::string repeat_section(const RunRecord& record, const JobResult& job) {
  std::string text = "### Repeat a minimal cell\n\n```\n";
  for (const MinimalFinding& finding : job.minimal)
    text += escape_controls(
                repeat_command(record, cell_of(job.matrix, job.matrix.choices[finding.index]))) +
            "\n";
  return text + "```\n\n";
}

Part matrix_part(const JobResult& job) {
  Part part{.summary = fmt::format("Matrix: {} cells", job.matrix.choices.size()),
            .head = "| switches on | outcome |\n| --- | --- |\n",
            .lines = {}};
  for (std::size_t i = 0; i < job.matrix.choices.size(); ++i)
    part.lines.push_back(fmt::format("| {} | {} |\n", label_of(job.matrix, job.matrix.choices[i]),
                                     symbol(job.outcomes[i])));
  return part;
}

Part evidence_part(const JobResult& job) {
  Part part{.summary = "Evidence", .head = "", .lines = {}};
  for (const MinimalFinding& finding : job.minimal) {
    const Outcome& outcome = job.outcomes[finding.index];
    std::string text =
        fmt::format("**{}**: `{}`", minimal_label(job, finding), fingerprint(outcome));
    if (!outcome.where.empty()) text += fmt::format(", at {}", markdown_text(outcome.where));
    if (!outcome.message.empty()) text += fmt::format("\n\n> {}", markdown_text(outcome.message));
    text += "\n\n";
    if (!finding.neighbour_trace.ranks.empty()) {
      const auto differences = diff_collectives(finding.trace, finding.neighbour_trace);
      text += fmt::format(
          "Collectives beside `{}`, which passes:{}\n\n",
          label_of(job.matrix, job.matrix.choices[*finding.passing_neighbour]),
          differences.empty() ? " the same calls in the same order and size on every rank." : "");
      for (const CollectiveDifference& difference : differences)
        text += fmt::format("- {}\n", markdown_text(collective_in_words(difference)));
      text += differences.empty() ? "" : "\n";
    }
    part.lines.push_back(text);
  }
  return part;
}

Part launch_part(const LaunchNotes& launch) {
  Part part{.summary = "What was read from the launch script", .head = "", .lines = {}};
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {
      {"Modelled:\n", &launch.modelled},
      {"\nRecognised, not modelled:\n", &launch.not_modelled},
      {"\nNot recognised or not known:\n", &launch.unknown}};
  for (const auto& [title, lines] : lists) {
    part.lines.emplace_back(title);
    for (const std::string& line : *lines)
      part.lines.push_back(fmt::format("- {}\n", markdown_text(line)));
    if (lines->empty()) part.lines.emplace_back("- none\n");
  }
  return part;
}

std::string label_of(const RunRecord& record, const FindingReproductions& finding) {
  const JobResult& job = record.jobs[finding.job];
  return minimal_label(job, job.minimal[finding.minimal]);
}

// Their programs, the framework's first. The tests stay in the folder: they hold the same engine.
std::vector<Part> reproduction_parts(const RunRecord& record) {
  std::vector<Part> parts;
  std::vector<std::string> seen;  // jobs may share files
  for (const FindingReproductions& finding : record.reproductions)
    for (const Reproduction& file : finding.files) {
      const std::string path = path_of(finding, file);
      if (file.text.empty() || file.name.ends_with("_test.cpp") || std::find(seen.begin(), seen.end(), path) != seen.end()) continue;
      seen.push_back(path);
      parts.push_back(
          {.summary = fmt::format("{} of {}: {}", file.name, label_of(record, finding),
                                  file.name.ends_with(".py")
                                      ? "a program for the stock framework, without a GPU"
                                      : "one C++20 source without dependencies"),
           .head = "",
           .lines = {markdown_code(file.text, file.name.ends_with(".py") ? "python" : "cpp")},
           .whole = true});
    }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.summary.starts_with("repro.py") > b.summary.starts_with("repro.py");
  });
  return parts;
}

std::string reproductions_section(const RunRecord& record) {
  if (record.reproductions.empty()) return "";
  std::string text = "### Stand-alone reproductions, as built and run here\n\n";
  for (const FindingReproductions& finding : record.reproductions) {
    text += fmt::format("- `{}`{}\n", label_of(record, finding),
                        finding.sizes.empty() ? "" : ", at " + markdown_text(finding.sizes));
    for (const Reproduction& file : finding.files)
      text += fmt::format("  - {}: {}: {}\n", markdown_span(path_of(finding, file)),
                          name_of(file.status),
                          markdown_text(file.words));
  }
  return text + "\n";
}

// The one place with time and machine.
std::string run_section(const RunRecord& record) {
  std::string text = reproductions_section(record);
  text += fmt::format("### Command and environment\n\n```\n{}\n```\n\n",
                                 escape_controls(shell_line(record.command)));
  for (const auto& [name, value] : record.environment)
    text += fmt::format("- {}: {}\n", markdown_text(name), markdown_text(value));
  return text + fmt::format("- wall time: {:.2f} s, reproductions apart\n- masked: {}\n", record.wall_seconds,
                            record.masked.empty() ? "nothing" : markdown_text(record.masked));
}

constexpr std::size_t kNoticeSize = 400;  // at most, of what stands beside a part's lines

// The parts within `room`: small ones whole, the others sharing what is left evenly.
std::string folded(const std::vector<Part>& parts, std::size_t room) {
  const auto frame_of = [](const Part& part) {
    return part.summary.size() + part.head.size() + kNoticeSize;
  };
  const auto size_of = [&](const Part& part) {
    std::size_t size = frame_of(part);
    for (const std::string& line : part.lines) size += line.size();
    return size;
  };
  std::vector<std::size_t> order(parts.size()), num_lines(parts.size(), 0);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return size_of(parts[a]) < size_of(parts[b]);
  });
  for (std::size_t done = 0; done < order.size(); ++done) {
    const Part& part = parts[order[done]];
    const std::size_t share = room / (order.size() - done);
    std::size_t used = frame_of(part);
    std::size_t& lines = num_lines[order[done]];
    while (lines < part.lines.size() && used + part.lines[lines].size() <= share)
      used += part.lines[lines++].size();
    room -= std::min(room, used);
  }
  std::string text;
  for (std::size_t p = 0; p < parts.size(); ++p) text += rendered(parts[p], num_lines[p]);
  return text;
}

// So many findings that even their list is too long: whole lines from the top.
std::string cut(const std::string& head, std::string list) {
  const std::string notice =
      "\n(cut here: a tracker takes no more; report.html and report.json hold all)\n";
  list.resize(std::min(list.size(), kMarkdownLimit - head.size() - notice.size() - 1));
  list.resize(list.rfind('\n') + 1);
  return head + list + notice;
}

// How the cells were spread over processes.
const char* processes_in_words(const RunRecord& record) {
  if (record.runtime_flags.empty()) return "each a process of its own";
  return runs_through_mpi(record) ? "each rank a process of its own" : "several to a process";
}

}  // namespace

std::string markdown_report(const RunRecord& record) {
  const std::string head =
      fmt::format("## {}: {}\n\n", kVersionText, markdown_text(record.scenario->title));
  std::string text =
      verdicts(record) +
      fmt::format(
          "{}; {} cells, {}.\n\n", layout_in_words(record, record.jobs.front()), record.num_trials,
          processes_in_words(record));
  std::vector<Part> parts;
  if (!record.launch.file.empty()) {
    text += fmt::format("Made from the launch script {} ({}), which was read and not run.\n\n",
                        markdown_text(record.launch.file), markdown_text(record.launch.dialect));
    parts.push_back(launch_part(record.launch));
  }
  for (std::size_t j = 0; j < record.jobs.size(); ++j) {
    const JobResult& job = record.jobs[j];
    if (!job.title.empty()) text += fmt::format("### {}\n\n", markdown_text(job.title));
    if (!job.minimal.empty()) {
      text += first_bad_section(record, job) + triage_section(record, j) + fixes_section(job) +
              repeat_section(record, job) +
              why_section(record, job);
      parts.push_back(evidence_part(job));
    }
    parts.push_back(matrix_part(job));
  }
  for (Part& part : reproduction_parts(record)) parts.push_back(std::move(part));
  const std::string tail =
      run_section(record) + fmt::format("\nUpstream: {}\n", record.scenario->upstream);
  const std::size_t room = kMarkdownLimit - std::min(kMarkdownLimit, head.size() + text.size() +
                                                                         tail.size() + kNoticeSize);
  const std::string whole = head + text + folded(parts, room) + tail;
  return whole.size() < kMarkdownLimit ? whole : cut(head, verdicts(record));
}

}  // namespace culprit
