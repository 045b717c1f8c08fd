#include <fmt/format.h>

#include <algorithm>

#include "report/explain.hpp"
#include "report/html_report.hpp"
#include "report/markup.hpp"
#include "report/wording.hpp"
#include "trace/timeline.hpp"

namespace culprit {
namespace {

using SpanKind = TimelineSpan::Kind;

// A picture of more phases than this would be a smear; the report says so and trace.json holds
// them.
constexpr std::size_t kMostPhases = 1200;
constexpr std::size_t kMostEvents = 1500;

struct PhaseLook {
  const char* css;
  const char* letter;
};
PhaseLook look_of(SpanKind kind) {
  switch (kind) {
    case SpanKind::kForward:
      return {"ph-f", "F"};
    case SpanKind::kRecompute:
      return {"ph-r", "R"};
    case SpanKind::kBackward:
      return {"ph-b", "B"};
    default:
      return {"ph-o", ""};
  }
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return fmt::format("{:.4g}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string phase_html(const TimelineRow& row, const TimelineSpan& phase, std::int64_t whole) {
  const PhaseLook look = look_of(phase.kind);
  std::size_t operations = 0, collectives = 0;
  for (const TimelineSpan& event : row.events) {
    if (event.first_event < phase.first_event || event.last_event > phase.last_event) continue;
    if (event.kind == SpanKind::kCollective)
      ++collectives;
    else if (event.kind != SpanKind::kWait && event.kind != SpanKind::kTransfer)
      ++operations;
  }
  const bool wide = phase.end - phase.begin >= whole / 40;
  const std::string note =
      fmt::format("{}: {} of micro-batch {}, time {} to {}, {} operation{}, {} collective{}",
                  row.title, phase.name, phase.micro_batch, phase.begin, phase.end, operations,
                  operations == 1 ? "" : "s", collectives, collectives == 1 ? "" : "s");
  return fmt::format(
      "<button type=\"button\" class=\"{}\" style=\"left:{};width:{}\" data-note=\"{}\" "
      "aria-label=\"{}\">{}</button>",
      look.css, percent(phase.begin, whole), percent(phase.end - phase.begin, whole),
      xml_text(note), xml_text(note),
      look.letter[0] == '\0' ? ""
      : wide                 ? fmt::format("{}{}", look.letter, phase.micro_batch)
                             : std::string(look.letter));
}

std::string event_html(const TimelineSpan& event, std::int64_t whole) {
  const char* css = event.kind == SpanKind::kCollective ? "ev-c"
                    : event.kind == SpanKind::kTransfer ? "ev-t"
                                                        : "ev-w";
  return fmt::format(
      "<i class=\"{}\" style=\"left:{};width:{}\" title=\"{}\"></i>", css,
      percent(event.begin, whole), percent(event.end - event.begin, whole),
      xml_text(event.kind == SpanKind::kWait ? "waits for " + event.name : event.name));
}

std::string end_html(const TimelineRow& row, std::int64_t whole) {
  if (row.error_kind.empty()) return "";
  const bool left = row.ended * 2 > whole;
  return fmt::format("<span class=\"tl-end{}\" style=\"left:{}\">{}</span>", left ? " left" : "",
                     percent(row.ended, whole), xml_text(row.error_kind));
}

std::string timeline_html(const CellTrace& trace, const std::string& label,
                          const Outcome& outcome) {
  const std::vector<TimelineRow> rows = lay_out(trace);
  std::int64_t whole = 1;
  std::size_t num_phases = 0, num_events = 0;
  for (const TimelineRow& row : rows) {
    whole = std::max(whole, row.ended);
    num_phases += row.phases.size();
    num_events += row.events.size();
  }
  std::string text = fmt::format("<p class=\"tl-title\">{}<span class=\"small\">{}</span></p>\n",
                                 html_badge(outcome), xml_text(label));
  if (num_phases > kMostPhases)
    return text + fmt::format(
                      "<p class=\"small muted\">{} phases are too many for a picture; trace.json "
                      "holds them.</p>\n",
                      num_phases);
  text += "<div class=\"tl\">\n";
  for (const TimelineRow& row : rows) {
    text += fmt::format(
        "<div class=\"tl-row\"><span>{}</span><div class=\"tl-track\" role=\"group\" "
        "aria-label=\"{}\">",
        xml_text(row.title), xml_text(row.title));
    for (const TimelineSpan& phase : row.phases) text += phase_html(row, phase, whole);
    for (const TimelineSpan& event : row.events) {
      const bool shown = event.kind == SpanKind::kWait || event.kind == SpanKind::kTransfer ||
                         event.kind == SpanKind::kCollective;
      if (shown && num_events <= kMostEvents) text += event_html(event, whole);
    }
    text += end_html(row, whole) + "</div></div>\n";
  }
  return text +
         "</div>\n<p class=\"tl-note\" aria-live=\"polite\">Choose a phase: what ran in it stands "
         "here.</p>\n";
}

constexpr const char* kLegend =
    "<ul class=\"legend\"><li><span class=\"swatch ph-f\">F</span>forward</li><li><span "
    "class=\"swatch ph-r\">R</span>recompute</li>"
    "<li><span class=\"swatch ph-b\">B</span>backward</li><li><span class=\"swatch "
    "ev-c\"></span>collective</li>"
    "<li><span class=\"swatch ev-t\"></span>send or receive</li><li><span class=\"swatch "
    "none\"></span>waits</li></ul>\n";

std::string differences_html(const MinimalFinding& finding) {
  if (finding.neighbour_trace.ranks.empty()) return "";
  std::string text;
  for (const CollectiveDifference& difference :
       diff_collectives(finding.trace, finding.neighbour_trace))
    text += "<li>" + xml_text(collective_in_words(difference)) + "</li>";
  if (text.empty())
    return "<p class=\"small\">Collectives and transfers: every rank calls the same ones, in the "
           "same order and size, as in the passing run.</p>\n";
  return "<p class=\"small\">Collectives and transfers, first difference of each rank from the "
         "passing run:</p>\n<ul class=\"small\">" +
         text + "</ul>\n";
}

std::string finding_html(const JobResult& job, std::size_t number) {
  const MinimalFinding& finding = job.minimal[number];
  std::string text = fmt::format(
      "<details class=\"card traced\"{}><summary><span class=\"num\">{}</span> {}</summary>\n",
      number == 0 ? " open" : "", number + 1, xml_text(minimal_label(job, finding)));
  text += "<h3>Pipeline</h3>\n" +
          timeline_html(finding.trace, minimal_label(job, finding), job.outcomes[finding.index]);
  if (!finding.neighbour_trace.ranks.empty())
    text += timeline_html(finding.neighbour_trace,
                          label_of(job.matrix, job.matrix.choices[*finding.passing_neighbour]),
                          job.outcomes[*finding.passing_neighbour]);
  text += kLegend + differences_html(finding);
  if (const std::string graph = html_graph(job, finding); !graph.empty())
    text += "<h3>Autograd graph around the defect</h3>\n" + graph;
  return text + "</details>\n";
}

}  // namespace

std::string html_traces(const RunRecord& record) {
  std::string text;
  for (const JobResult& job : record.jobs) {
    std::string traced;
    for (std::size_t m = 0; m < job.minimal.size(); ++m)
      if (!job.minimal[m].trace.ranks.empty()) traced += finding_html(job, m);
    if (!traced.empty() && !job.title.empty())
      text += fmt::format("<p class=\"section-note\">{}</p>\n", xml_text(job.title));
    text += traced;
  }
  return text;
}

}  // namespace culprit
