#include "report/ctrf_report.hpp"

#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

Json cell_test(const RunRecord& record, const JobResult& job, std::size_t index) {
  const Outcome& outcome = job.outcomes[index];
  Json test{{"name", label_of(job.matrix, job.matrix.choices[index])},
            {"status", "passed"},
            {"duration", 0}};
  test["rawStatus"] = row_of(outcome.outcome).name;
  test["suite"] = {record.scenario->name};
  if (!job.title.empty()) test["suite"].push_back(escape_controls(job.title));
  test["message"] = escape_controls(outcome_in_words(outcome));
  for (const auto& [name, value] : settings_of(job.matrix, job.matrix.choices[index]))
    test["parameters"][name] = value;
  return test;
}

Json declared_test(const RunRecord& record, const JobResult& job) {
  Json test{{"name", "came out as declared"},
            {"status", job.differences.empty() ? "passed" : "failed"},
            {"duration", 0}};
  test["suite"] = {record.scenario->name};
  if (!job.title.empty()) test["suite"].push_back(escape_controls(job.title));
  std::string message;
  for (const std::string& difference : job.differences)
    message += (message.empty() ? "" : "; ") + escape_controls(difference);
  if (!message.empty()) test["message"] = message;
  return test;
}

}  // namespace

std::string ctrf_report(const RunRecord& record) {
  Json tests = Json::array();
  std::size_t failed = 0;
  for (const JobResult& job : record.jobs) {
    for (std::size_t i = 0; i < job.outcomes.size(); ++i)
      tests.push_back(cell_test(record, job, i));
    tests.push_back(declared_test(record, job));
    failed += job.differences.empty() ? 0 : 1;
  }
  const Json summary{
      {"tests", tests.size()},
      {"passed", tests.size() - failed},
      {"failed", failed},
      {"skipped", 0},
      {"pending", 0},
      {"other", 0},
      {"start", record.started_ms},
      {"stop", record.started_ms + static_cast<std::int64_t>(record.wall_seconds * 1000.0)}};
  const Json report{{"reportFormat", "CTRF"},
                    {"specVersion", "0.0.0"},
                    {"generatedBy", kVersionText},
                    {"results",
                     {{"tool", {{"name", "culprit"}, {"version", kVersion}}},
                      {"summary", summary},
                      {"tests", tests}}}};
  return report.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace culprit
