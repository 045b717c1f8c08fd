#include "report/json_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "autograd/rules.hpp"
#include "base/version.hpp"
#include "outcome/outcome_json.hpp"
#include "report/explain.hpp"
#include "report/known_reports.hpp"
#include "report/launch_json.hpp"
#include "report/triage_json.hpp"
#include "report/wording.hpp"
#include "trace/collective_diff.hpp"

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

Json labels_json(const JobResult& job, const std::vector<std::size_t>& indices) {
  Json list = Json::array();
  for (const std::size_t i : indices) list.push_back(label_of(job.matrix, job.matrix.choices[i]));
  return list;
}

Json certificate_json(const JobResult& job, const MinimalFinding& finding) {
  const MatrixCertificate certificate = certificate_of(job.matrix, job.outcomes, finding.index);
  return {{"passes_with_one_less", labels_json(job, certificate.smaller)},
          {"contained_in",
           {{"fails_alike", labels_json(job, certificate.fails_alike)},
            {"fails_differently", labels_json(job, certificate.fails_differently)},
            {"passes", labels_json(job, certificate.passes)}}}};
}

Json known_json(const RunRecord& record, const JobResult& job, const MinimalFinding& finding) {
  const FailureShape shape = shape_of(record, job, finding);
  Json reports = Json::array();
  for (const KnownReport* report : reports_like(shape))
    reports.push_back({{"id", report->id},
                       {"title", report->title},
                       {"url", report->url},
                       {"clears", report->clears}});
  return {{"shape", shape.text()}, {"reports", reports}};
}

Json collectives_json(const MinimalFinding& finding) {
  Json list = Json::array();
  for (const CollectiveDifference& difference :
       diff_collectives(finding.trace, finding.neighbour_trace))
    list.push_back({{"stage", difference.stage},
                    {"rank", difference.tp_rank},
                    {"position", difference.position},
                    {"in_words", difference.in_words}});
  return list;
}

Json finding_json(const RunRecord& record, const JobResult& job, const MinimalFinding& finding) {
  const Choice& choice = job.matrix.choices[finding.index];
  const Outcome& outcome = job.outcomes[finding.index];
  const Cell cell = cell_of(job.matrix, choice);
  Json fixes = Json::array();
  for (std::size_t f = 0; f < candidate_fixes().size(); ++f)
    fixes.push_back({{"fix", candidate_fixes()[f].name},
                     {"one_linear", trial_json(record, finding.fixes[0][f])},
                     {"two_linears", trial_json(record, finding.fixes[1][f])}});
  Json entry{{"switches", settings_json(settings_of(job.matrix, choice))},
             {"label", label_of(job.matrix, choice)},
             {"fingerprint", fingerprint(outcome)},
             {"silent", row_of(outcome.outcome).silent},
             {"in_words", outcome_in_words(outcome)},
             {"place", place_in_words(job, outcome)},
             {"first_bad", first_bad_in_words(job, choice, outcome)},
             {"repeat", repeat_command(record, cell)},
             {"certificate", certificate_json(job, finding)},
             {"known", known_json(record, job, finding)},
             {"one_micro_batch", brief(finding.one_micro_batch)},
             {"two_linears", brief(finding.two_linears)},
             {"smallest",
              outcome_json(record.scenario->name, finding.smallest.cell, finding.smallest.outcome)},
             {"fixes", fixes}};
  if (finding.other_framework) {
    entry["other_framework"] = brief(finding.other_framework->outcome);
    entry["other_framework"]["framework"] = kComparedFramework;
    entry["other_framework"]["rules_tried"] = finding.other_framework->num_tried;
    entry["other_framework"]["rules"] = Json::array();
    const auto& rules = finding.other_framework->rules;
    for (const std::size_t rule : rules) entry["other_framework"]["rules"].push_back(named_rules()[rule].name);
    if (!rules.empty()) {
      entry["other_framework"]["rule"] = named_rules()[rules.front()].name;
      entry["other_framework"]["meaning"] = named_rules()[rules.front()].meaning;
    }
  }
  if (!finding.neighbour_trace.ranks.empty())
    entry["collectives"] = {
        {"beside", label_of(job.matrix, job.matrix.choices[*finding.passing_neighbour])},
        {"differences", collectives_json(finding)}};
  return entry;
}

// What was seen of them depends on what is installed, so they stand with the machine.
Json reproductions_json(const RunRecord& record) {
  Json list = Json::array();
  for (const FindingReproductions& finding : record.reproductions) {
    const JobResult& job = record.jobs[finding.job];
    Json entry{{"label", minimal_label(job, job.minimal[finding.minimal])},
               {"sizes", finding.sizes}};
    if (!job.title.empty()) entry["job"] = job.title;
    entry["files"] = Json::array();
    for (const Reproduction& file : finding.files)
      entry["files"].push_back({{"file", path_of(finding, file)},
                                {"status", name_of(file.status)},
                                {"in_words", file.words}});
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string json_report(const RunRecord& record) {
  Json report{{"schema", kReportSchema},
              {"tool", kVersionText},
              {"scenario", record.scenario->name},
              {"title", record.scenario->title},
              {"upstream", record.scenario->upstream},
              {"as_declared", record.as_declared()},
              {"trials", record.num_trials},
              {"bounds", bounds_in_words(record)}};
  Json minimal = Json::array();
  Json jobs = Json::array();
  for (std::size_t j = 0; j < record.jobs.size(); ++j) {
    const JobResult& job = record.jobs[j];
    Json cells = Json::array();
    for (std::size_t i = 0; i < job.matrix.choices.size(); ++i)
      cells.push_back(
          {{"switches", settings_json(settings_of(job.matrix, job.matrix.choices[i]))},
           {"label", label_of(job.matrix, job.matrix.choices[i])},
           {"result", outcome_json(record.scenario->name,
                                   cell_of(job.matrix, job.matrix.choices[i]), job.outcomes[i])}});
    for (const MinimalFinding& finding : job.minimal) {
      Json entry = finding_json(record, job, finding);
      if (j < record.triage.size())
        entry["triage"] = triage_json(
            record.triage[j].at(static_cast<std::size_t>(&finding - job.minimal.data())));
      if (!job.title.empty()) entry["job"] = job.title;
      minimal.push_back(std::move(entry));
    }
    jobs.push_back({{"title", job.title},
                    {"judged", job.judged},
                    {"differences", job.differences},
                    {"left_out", job.matrix.left_out},
                    {"cells", cells}});
  }
  report["minimal_combinations"] = minimal;
  report["jobs"] = jobs;
  if (!record.launch.file.empty())
    report["launch_script"] = launch_json(record.launch);
  // Time and machine in one place only: all else is equal for equal results.
  Json run{{"command", record.command}, {"wall_seconds", record.wall_seconds}};
  run["masked"] = record.masked;
  run["environment"] = Json::object();
  for (const auto& [name, value] : record.environment) run["environment"][name] = value;
  run["reproductions"] = reproductions_json(record);
  report["run"] = run;
  return report.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace culprit
