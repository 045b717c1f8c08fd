#include "report/chrome_trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/wording.hpp"
#include "terminal/escape.hpp"
#include "trace/timeline.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

Json metadata(const char* name, int process, int thread, const std::string& value) {
  return {{"name", name},
          {"ph", "M"},
          {"pid", process},
          {"tid", thread},
          {"args", {{"name", escape_controls(value)}}}};
}

const char* category(TimelineSpan::Kind kind) {
  switch (kind) {
    case TimelineSpan::Kind::kForward:
      return "forward";
    case TimelineSpan::Kind::kRecompute:
      return "recompute";
    case TimelineSpan::Kind::kBackward:
      return "backward";
    case TimelineSpan::Kind::kCollective:
      return "collective";
    case TimelineSpan::Kind::kTransfer:
      return "transfer";
    case TimelineSpan::Kind::kWait:
      return "wait";
    case TimelineSpan::Kind::kOther:
      break;
  }
  return "other";
}

Json span_json(const TimelineSpan& span, const std::string& name, int process, int thread) {
  return {{"name", escape_controls(name)},
          {"cat", category(span.kind)},
          {"ph", "X"},
          {"ts", span.begin},
          {"dur", span.end - span.begin},
          {"pid", process},
          {"tid", thread},
          {"args", {{"micro_batch", span.micro_batch}}}};
}

void add_cell(Json& events, const CellTrace& trace, int process, const std::string& title) {
  if (trace.ranks.empty()) return;
  events.push_back(metadata("process_name", process, 0, title));
  int thread = 0;
  for (const TimelineRow& row : lay_out(trace)) {
    events.push_back(metadata("thread_name", process, thread, row.title));
    for (const TimelineSpan& phase : row.phases)
      events.push_back(
          span_json(phase, fmt::format("{} {}", phase.name, phase.micro_batch), process, thread));
    for (const TimelineSpan& event : row.events)
      events.push_back(span_json(
          event, event.kind == TimelineSpan::Kind::kWait ? "waits for " + event.name : event.name,
          process, thread));
    if (!row.error_kind.empty())
      events.push_back({{"name", escape_controls(row.error_kind)},
                        {"cat", "error"},
                        {"ph", "i"},
                        {"s", "t"},
                        {"ts", row.ended},
                        {"pid", process},
                        {"tid", thread}});
    ++thread;
  }
}

}  // namespace

std::string chrome_trace(const RunRecord& record) {
  Json events = Json::array();
  int process = 0;
  for (const JobResult& job : record.jobs)
    for (const MinimalFinding& finding : job.minimal) {
      const std::string title = minimal_label(job, finding);
      add_cell(events, finding.trace, ++process,
               fmt::format("{}: {}", verdict_word(job.outcomes[finding.index]), title));
      if (finding.passing_neighbour)
        add_cell(events, finding.neighbour_trace, ++process,
                 fmt::format("PASS: {} (beside {})",
                             label_of(job.matrix, job.matrix.choices[*finding.passing_neighbour]),
                             title));
    }
  const Json document{
      {"traceEvents", events},
      {"displayTimeUnit", "ms"},
      {"otherData",
       {{"scenario", record.scenario->name}, {"time", "logical: one operation is one unit"}}}};
  return document.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace culprit
