#include "report/known_reports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "report/embedded.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

FailureShape shape_from(const Json& entry) {
  return {.features = entry.at("features").get<std::set<std::string>>(),
          .outcome = entry.at("outcome"),
          .kind = entry.value("kind", ""),
          .scenario = entry.value("scenario", "")};
}

// A switch of the matrix as a feature of the family, whatever a framework calls it.
std::string feature_of(const AxisValue& value) {
  if (value.field == "identity")
    return value.value == "skip" ? "skip-identity" : "identity-" + value.value;
  if (value.field == "recompute") return "recompute-" + value.value;
  if (value.field == "pp") return "pipeline";
  if (value.field == "residual") return "shared-input";
  if (value.field == "fan_out") return "two-linears";
  if (value.field == "path") return "overlap-linear";
  if (value.field == "first_op") return "operator-before";
  if (value.field == "embed") return "stopped-input";
  if (value.field == "capture") return "closure-captures-" + value.value;
  return value.field == "release" ? "release" : value.field + "-" + value.value;
}

std::vector<KnownReport> read_catalogue() {
  std::vector<KnownReport> reports;
  try {
    const Json catalogue = Json::parse(embedded::known_reports_json);
    for (const Json& entry : catalogue.at("reports")) {
      KnownReport& report = reports.emplace_back();
      report.id = entry.at("id");
      report.title = entry.at("title");
      report.url = entry.value("url", "");
      report.mechanism = entry.at("mechanism");
      report.clears = entry.at("clears");
      for (const Json& shape : entry.at("shapes")) report.shapes.push_back(shape_from(shape));
    }
  } catch (const Json::exception& error) {
    throw SetupError(
        fmt::format("the compiled-in catalogue known_reports.json is broken: {}", error.what()));
  }
  return reports;
}

}  // namespace

std::string FailureShape::text() const {
  return fmt::format("{}:{}{}{}",
                     features.empty() ? "always" : fmt::format("{}", fmt::join(features, "+")),
                     outcome, kind.empty() ? "" : ":", kind);
}

const std::vector<KnownReport>& known_reports() {
  static const std::vector<KnownReport> reports = read_catalogue();
  return reports;
}

FailureShape shape_of(const RunRecord& record, const JobResult& job,
                      const MinimalFinding& finding) {
  FailureShape shape;
  const Choice& choice = job.matrix.choices[finding.index];
  for (std::size_t a = 0; a < choice.size(); ++a)
    if (choice[a] != 0) shape.features.insert(feature_of(job.matrix.axes[a].on[choice[a] - 1]));
  const Outcome& outcome = job.outcomes[finding.index];
  if (finding.one_micro_batch.outcome == OutcomeClass::kPass && job.matrix.base.acc > 1)
    shape.features.insert("accumulation");
  shape.outcome = row_of(outcome.outcome).name;
  shape.kind = outcome.kind;
  shape.scenario = record.scenario->name;
  return shape;
}

std::vector<const KnownReport*> reports_like(const FailureShape& shape) {
  std::vector<const KnownReport*> like;
  for (const KnownReport& report : known_reports()) {
    const auto same = [&](const FailureShape& known) {
      return known.features == shape.features && known.outcome == shape.outcome &&
             known.kind == shape.kind &&
             (known.scenario.empty() || known.scenario == shape.scenario);
    };
    if (std::any_of(report.shapes.begin(), report.shapes.end(), same)) like.push_back(&report);
  }
  return like;
}

std::vector<std::string> known_in_words(const RunRecord& record, const JobResult& job,
                                        const MinimalFinding& finding) {
  std::vector<std::string> lines;
  for (const KnownReport* report : reports_like(shape_of(record, job, finding)))
    lines.push_back(fmt::format(
        "same shape as {}: {}",
        report->url.empty() ? "a measured case that is not reported in public" : report->url,
        report->title));
  if (lines.empty()) lines.emplace_back("no known report");
  return lines;
}

}  // namespace culprit
