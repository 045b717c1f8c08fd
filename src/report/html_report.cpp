#include "report/html_report.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/version.hpp"
#include "report/embedded.hpp"
#include "report/explain.hpp"
#include "report/known_reports.hpp"
#include "report/markup.hpp"
#include "report/wording.hpp"

namespace culprit {
namespace {

std::string list_html(const std::vector<std::string>& lines) {
  std::string text = "<ul>";
  for (const std::string& line : lines) text += "<li>" + xml_text(line) + "</li>";
  return text + "</ul>";
}

std::string command_html(const std::string& command) {
  return fmt::format("<div class=\"cmd\" data-copy><pre>{}</pre></div>", xml_text(command));
}

// A program of many lines.
std::string program_html(const std::string& text) {
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines += xml_text(std::string_view(text).substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return fmt::format("<div class=\"cmd\" data-copy><pre>{}</pre></div>", lines);
}

// Addresses become links; only https ones are made.
std::string linked(const std::string& line) {
  const auto at = line.find("https://");
  if (at == std::string::npos) return xml_text(line);
  auto end = line.find_first_of(" \"<>", at);
  if (end == std::string::npos) end = line.size();
  while (end > at && (line[end - 1] == ':' || line[end - 1] == '.' || line[end - 1] == ',')) --end;
  const std::string url = xml_text(line.substr(at, end - at));
  return fmt::format("{}<a href=\"{}\" rel=\"noreferrer\">{}</a>{}", xml_text(line.substr(0, at)),
                     url, url, xml_text(line.substr(end)));
}

std::string section(const std::string& id, const std::string& title, const std::string& note,
                    const std::string& body) {
  return fmt::format(
      "<section id=\"{}\" aria-labelledby=\"{}-title\">\n<h2 "
      "id=\"{}-title\">{}</h2>\n{}{}</section>\n",
      id, id, id, title,
      note.empty() ? "" : fmt::format("<p class=\"section-note\">{}</p>\n", note), body);
}

std::string combo_html(const JobResult& job, std::size_t index) {
  std::string text;
  const Choice& choice = job.matrix.choices[index];
  for (std::size_t a = 0; a < choice.size(); ++a)
    if (choice[a] != 0)
      text +=
          (text.empty() ? "" : " <i>+</i> ") + xml_text(job.matrix.axes[a].on[choice[a] - 1].label);
  return text.empty() ? "base" : text;
}

std::string verdict_html(const RunRecord& record, const JobResult& job, std::size_t number) {
  const MinimalFinding& finding = job.minimal[number];
  const Outcome& outcome = job.outcomes[finding.index];
  std::string known;
  for (const std::string& line : known_in_words(record, job, finding))
    known += fmt::format("<p class=\"small\">{}</p>\n", linked(line));
  return fmt::format(
      "<li class=\"card verdict {}\">\n<div class=\"verdict-head\"><span "
      "class=\"num\">{}</span>{}</div>\n<p class=\"combo\">{}</p>\n"
      "<p>{}</p>\n<p class=\"small muted\">{}.{}</p>\n{}<details><summary>Why it is "
      "minimal</summary>{}</details>\n</li>\n",
      html_class(outcome), number + 1, html_badge(outcome), combo_html(job, finding.index),
      xml_text(outcome_in_words(outcome)),
      xml_text(first_bad_in_words(job, job.matrix.choices[finding.index], outcome)),
      outcome.worst ? xml_text(" Held against: " + bounds_in_words(record) + ".") : "", known,
      list_html(certificate_in_words(job, finding)));
}

std::string job_verdicts(const RunRecord& record, const JobResult& job) {
  std::string text;
  for (const std::string& difference : job.differences)
    text += fmt::format("<p class=\"alert\">Not as declared: {}</p>\n", xml_text(difference));
  text += "<ul class=\"verdicts\">\n";
  for (std::size_t m = 0; m < job.minimal.size(); ++m) text += verdict_html(record, job, m);
  if (job.minimal.empty())
    text += fmt::format(
        "<li class=\"card verdict pass\"><div class=\"verdict-head\">{}</div><p class=\"combo\">no "
        "combination of these "
        "switches fails</p></li>\n",
        html_badge(Outcome{}));
  text += "</ul>\n";
  for (const std::string& line : other_framework_in_words(job))
    text += fmt::format("<p class=\"section-note\">{}.</p>\n", xml_text(line));
  if (const std::string words = not_needed_in_words(job); !words.empty())
    text += fmt::format("<p class=\"section-note\">{}.</p>\n", xml_text(words));
  return text;
}

std::string fixes_html(const JobResult& job) {
  std::string text =
      "<div class=\"card scroll\"><table class=\"plain fixes\"><thead><tr><th "
      "scope=\"col\">fix</th><th scope=\"col\">in all</th>";
  for (std::size_t m = 0; m < job.minimal.size(); ++m)
    text += fmt::format("<th scope=\"col\"><span class=\"num\">{}</span> {}</th>", m + 1,
                        xml_text(minimal_label(job, job.minimal[m])));
  text += "<th scope=\"col\">cost, against view</th></tr></thead><tbody>\n";
  for (std::size_t f = 0; f < candidate_fixes().size(); ++f) {
    const Fix& fix = candidate_fixes()[f];
    const std::string summary = fix_summary(job, f);
    text +=
        fmt::format("<tr><th scope=\"row\">{}{}</th><td class=\"{}\">{}</td>", xml_text(fix.name),
                    fix.meaning.empty()
                        ? ""
                        : fmt::format(" <span class=\"muted\">({})</span>", xml_text(fix.meaning)),
                    summary == "clears all"                       ? "yes"
                    : summary.find("silent") != std::string::npos ? "bad"
                                                                  : "",
                    xml_text(summary));
    for (const MinimalFinding& finding : job.minimal)
      text += fmt::format("<td>{}</td>", xml_text(fix_in_words(finding, f)));
    text += fmt::format("<td>{}</td></tr>\n", xml_text(fix_cost(job, f)));
  }
  return text + "</tbody></table></div>\n";
}

std::string repeat_html(const RunRecord& record, const JobResult& job) {
  std::string text = "<div class=\"card\">\n";
  for (std::size_t m = 0; m < job.minimal.size(); ++m) {
    const MinimalFinding& finding = job.minimal[m];
    text += fmt::format(
        "<p><span class=\"num\">{}</span> {}</p>\n<p class=\"small muted\">Smallest scale: "
        "{}</p>\n{}",
        m + 1, combo_html(job, finding.index), xml_text(smallest_in_words(job, finding)),
        command_html(
            repeat_command(record, cell_of(job.matrix, job.matrix.choices[finding.index]))));
  }
  return text + "</div>\n";
}

// The programs themselves; what was seen of them stands with the machine.
std::string reproductions_html(const RunRecord& record) {
  std::string text;
  for (const FindingReproductions& finding : record.reproductions) {
    const JobResult& job = record.jobs[finding.job];
    std::string files;
    for (const Reproduction& file : finding.files)
      files += file.text.empty()
                   ? fmt::format("<p class=\"small muted\">{}: not written: {}</p>\n",
                                 xml_text(file.name), xml_text(file.words))
                   : fmt::format("<details><summary>{}</summary>{}</details>\n",
                                 xml_text(path_of(finding, file)), program_html(file.text));
    text += fmt::format(
        "<div class=\"card\">\n<p><span class=\"num\">{}</span> {}</p>\n<p class=\"small "
        "muted\">{}</p>\n{}</div>\n",
        finding.minimal + 1, combo_html(job, job.minimal[finding.minimal].index),
        xml_text(finding.sizes), files);
  }
  return text;
}

std::string launch_html(const LaunchNotes& launch) {
  const auto part = [](const std::string& title, const std::vector<std::string>& lines) {
    return lines.empty() ? ""
                         : fmt::format("<details><summary>{} ({})</summary>{}</details>\n", title,
                                       lines.size(), list_html(lines));
  };
  return section(
      "launch", "Launch script",
      fmt::format("{} ({}), read and not run.", xml_text(launch.file), xml_text(launch.dialect)),
      "<div class=\"card\">" + part("Modelled", launch.modelled) +
          part("Recognised, not modelled", launch.not_modelled) +
          part("Not recognised or not known", launch.unknown) + "</div>\n");
}

// The one place with time and machine.
std::string run_html(const RunRecord& record) {
  std::string text =
      "<div class=\"card\">\n" + command_html(shell_line(record.command)) + "<dl class=\"kv\">\n";
  for (const auto& [name, value] : record.environment)
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", xml_text(name), xml_text(value));
  for (const std::string& line : reproductions_in_words(record))
    text += fmt::format("<dt>reproductions</dt><dd>{}</dd>\n", xml_text(line));
  text += fmt::format(
      "<dt>wall time</dt><dd>{:.2f} s, reproductions apart</dd>\n<dt>masked</dt><dd>{}</dd>\n</dl>\n</div>\n",
      record.wall_seconds, record.masked.empty() ? "nothing" : xml_text(record.masked));
  return section("run", "Command and environment", "", text);
}

std::string header_html(const RunRecord& record,
                        const std::vector<std::pair<std::string, std::string>>& contents) {
  std::string links;
  for (const auto& [id, title] : contents)
    links += fmt::format("<a href=\"#{}\">{}</a>\n", id, title);
  const JobResult& job = record.jobs.front();
  return fmt::format(
      "<header class=\"top\">\n<p class=\"brand\"><b>{}</b><span>{}</span></p>\n<h1>{}</h1>\n<ul "
      "class=\"facts\">"
      "<li>{}</li><li>{} cells run</li><li>{}</li></ul>\n<nav class=\"toc\" "
      "aria-label=\"Sections\">\n{}</nav>\n</header>\n",
      kVersionText, xml_text(record.scenario->name), xml_text(record.scenario->title),
      xml_text(layout_in_words(record, job)), record.num_trials,
      record.as_declared() ? "as declared" : "not as declared", links);
}

std::string body_html(const RunRecord& record) {
  std::vector<std::pair<std::string, std::string>> contents;
  std::string body;
  const auto add = [&](const std::string& id, const std::string& title, const std::string& note,
                       const std::string& html) {
    contents.emplace_back(id, title);
    body += section(id, title, note, html);
  };
  std::string verdicts, matrices, fixes, repeats;
  for (std::size_t j = 0; j < record.jobs.size(); ++j) {
    const JobResult& job = record.jobs[j];
    const std::string title =
        job.title.empty() ? ""
                          : fmt::format("<p class=\"section-note\">{}</p>\n", xml_text(job.title));
    verdicts += title + job_verdicts(record, job);
    matrices += title + html_matrix(record, j);
    if (job.minimal.empty()) continue;
    fixes += title + fixes_html(job);
    repeats += title + repeat_html(record, job);
  }
  add("verdict", "Verdict", "", verdicts);
  add("matrix", "Matrix",
      "Each cell is a run of its own. Choose one for its evidence; arrow keys move.", matrices);
  if (const std::string traces = html_traces(record); !traces.empty())
    add("traces", "What happened",
        "Logical time: every operation takes one unit; it shows order and waiting, not seconds.",
        traces);
  if (!fixes.empty()) {
    add("fixes", "Fixes",
        "Each was tried at each minimal combination, with one and with two column linears on one "
        "input.",
        fixes);
    add("repeat", "Repeat a minimal cell", "", repeats);
  }
  if (const std::string programs = reproductions_html(record); !programs.empty())
    add("repros", "Stand-alone reproductions",
        "Each minimal combination as programs without this project, at sizes that read well: a deviation there is another than in the matrix. What was "
        "seen of them here stands below.",
        programs);
  if (!record.launch.file.empty()) {
    contents.emplace_back("launch", "Launch script");
    body += launch_html(record.launch);
  }
  contents.emplace_back("run", "Command and environment");
  body += run_html(record);
  return fmt::format(
      "<div class=\"wrap\">\n{}<main>\n{}</main>\n<footer>Upstream: {}</footer>\n</div>\n",
      header_html(record, contents), body, linked(record.scenario->upstream));
}

// The template with its {{slots}} filled; what is filled in is not looked at again.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& slots) {
  std::string text;
  for (std::size_t at = 0; at < page.size();) {
    const auto open = page.find("{{", at);
    text += page.substr(at, open == std::string_view::npos ? open : open - at);
    if (open == std::string_view::npos) break;
    const auto close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    for (const auto& [slot, value] : slots)
      if (slot == name) text += value;
    at = close + 2;
  }
  return text;
}

}  // namespace

std::string html_report(const RunRecord& record) {
  return filled(embedded::report_html, {{"tool", std::string(kVersionText)},
                                        {"title", xml_text("culprit: " + record.scenario->title)},
                                        {"style", std::string(embedded::report_css)},
                                        {"body", body_html(record)},
                                        {"data", html_data(record)},
                                        {"script", std::string(embedded::report_js)}});
}

}  // namespace culprit
