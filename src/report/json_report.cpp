#include "report/json_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "outcome/outcome_json.hpp"
#include "report/markup.hpp"
#include "report/wording.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

Json settings_json(const Settings& settings) {
  Json object = Json::object();
  for (const auto& [name, value] : settings) object[name] = value;
  return object;
}

Json trial_json(const RunRecord& record, const FixTrial& trial) {
  Json object{{"effect", effect_name(trial.effect)}};
  if (trial.effect != FixEffect::kNotApplicable)
    object["result"] = outcome_json(record.scenario->name, trial.cell, trial.outcome);
  return object;
}

// A trial beside the minimal cell: what it came to, without its numbers.
Json brief(const Outcome& outcome) {
  return {{"outcome", row_of(outcome.outcome).name}, {"fingerprint", fingerprint(outcome)}};
}

Json finding_json(const RunRecord& record, const JobResult& job, const MinimalFinding& finding) {
  const Choice& choice = job.matrix.choices[finding.index];
  const Outcome& outcome = job.outcomes[finding.index];
  Json fixes = Json::array();
  for (std::size_t f = 0; f < candidate_fixes().size(); ++f)
    fixes.push_back({{"fix", candidate_fixes()[f].name},
                     {"one_linear", trial_json(record, finding.fixes[0][f])},
                     {"two_linears", trial_json(record, finding.fixes[1][f])}});
  return {{"switches", settings_json(settings_of(job.matrix, choice))},
          {"label", label_of(job.matrix, choice)},
          {"fingerprint", fingerprint(outcome)},
          {"silent", row_of(outcome.outcome).silent},
          {"in_words", outcome_in_words(outcome)},
          {"place", place_in_words(job, outcome)},
          {"repeat", repeat_command(record, cell_of(job.matrix, choice))},
          {"one_micro_batch", brief(finding.one_micro_batch)},
          {"two_linears", brief(finding.two_linears)},
          {"fixes", fixes}};
}

}  // namespace

std::string json_report(const RunRecord& record) {
  Json report{{"schema", kReportSchema},
              {"tool", kVersionText},
              {"scenario", record.scenario->name},
              {"title", record.scenario->title},
              {"upstream", record.scenario->upstream},
              {"as_declared", record.as_declared()},
              {"trials", record.num_trials}};
  Json minimal = Json::array();
  Json jobs = Json::array();
  for (const JobResult& job : record.jobs) {
    Json cells = Json::array();
    for (std::size_t i = 0; i < job.matrix.choices.size(); ++i)
      cells.push_back(
          {{"switches", settings_json(settings_of(job.matrix, job.matrix.choices[i]))},
           {"label", label_of(job.matrix, job.matrix.choices[i])},
           {"result", outcome_json(record.scenario->name,
                                   cell_of(job.matrix, job.matrix.choices[i]), job.outcomes[i])}});
    for (const MinimalFinding& finding : job.minimal) {
      Json entry = finding_json(record, job, finding);
      if (!job.title.empty()) entry["job"] = job.title;
      minimal.push_back(std::move(entry));
    }
    jobs.push_back({{"title", job.title},
                    {"judged", job.judged},
                    {"differences", job.differences},
                    {"cells", cells}});
  }
  report["minimal_combinations"] = minimal;
  report["jobs"] = jobs;
  if (!record.launch.file.empty())
    report["launch_script"] = {{"file", record.launch.file},
                               {"dialect", record.launch.dialect},
                               {"modelled", record.launch.modelled},
                               {"not_modelled", record.launch.not_modelled},
                               {"unknown", record.launch.unknown}};
  // Time and machine in one place only: all else is equal for equal results.
  Json run{{"command", record.command}, {"wall_seconds", record.wall_seconds}};
  for (const auto& [name, value] : record.environment) run["environment"][name] = value;
  report["run"] = run;
  return report.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

std::string junit_report(const RunRecord& record) {
  std::string body;
  std::size_t tests = 0, failures = 0;
  for (const JobResult& job : record.jobs) {
    const std::string suite = record.scenario->name + (job.title.empty() ? "" : "." + job.title);
    for (std::size_t i = 0; i < job.matrix.choices.size(); ++i) {
      const Outcome& outcome = job.outcomes[i];
      body += fmt::format(
          "    <testcase classname=\"{}\" name=\"{}\"><system-out>{}</system-out></testcase>\n",
          xml_text(suite), xml_text(label_of(job.matrix, job.matrix.choices[i])),
          xml_text(outcome_in_words(outcome) +
                   (outcome.message.empty() ? "" : ": " + outcome.message)));
      ++tests;
    }
    std::string problem;
    for (const std::string& difference : job.differences) problem += xml_text(difference) + "\n";
    body += fmt::format(
        "    <testcase classname=\"{}\" name=\"came out as declared\">{}</testcase>\n",
        xml_text(suite),
        problem.empty() ? "" : "<failure message=\"not as declared\">" + problem + "</failure>");
    ++tests;
    failures += problem.empty() ? 0 : 1;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{0}\" failures=\"{1}\">\n  "
      "<testsuite "
      "name=\"{2}\" tests=\"{0}\" failures=\"{1}\" errors=\"0\" skipped=\"0\">\n{3}  "
      "</testsuite>\n</testsuites>\n",
      tests, failures, xml_text(record.scenario->name), body);
}

}  // namespace culprit
