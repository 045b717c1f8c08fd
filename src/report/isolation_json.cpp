#include "report/isolation_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "report/isolation_wording.hpp"
#include "report/launch_json.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

Json settings_json(const Space& space, const SettingSet& settings) {
  Json object = Json::object();
  for (const Setting& setting : settings)
    object[space.switches[setting.which].name] =
        space.switches[setting.which].values[setting.value];
  return object;
}

Json assignment_json(const Space& space, const Assignment& assignment) {
  Json object = Json::object();
  for (std::size_t i = 0; i < assignment.size(); ++i)
    object[space.switches[i].name] = space.switches[i].values[assignment[i]];
  return object;
}

Json observation_json(const Space& space, const Observation& seen) {
  Json object{{"switches", assignment_json(space, seen.assignment)},
              {"runs", seen.runs},
              {"failures", seen.failures},
              {"passes", seen.passes},
              {"different", seen.different},
              {"unresolved", seen.unresolved}};
  if (!seen.other_fingerprint.empty()) object["other_fingerprint"] = seen.other_fingerprint;
  return object;
}

Json certificate_json(const Space& space, const Combination& combination) {
  Json necessity = Json::array();
  for (const Necessity& each : combination.necessity)
    necessity.push_back({{"switch", space.switches[each.setting.which].name},
                         {"value", space.switches[each.setting.which].values[each.setting.value]},
                         {"alone", each.alone},
                         {"with", observation_json(space, each.with)},
                         {"without", observation_json(space, each.without)}});
  Json support = Json::array();
  for (const Observation& each : combination.support)
    support.push_back(observation_json(space, each));
  return {{"proven", combination.proven},
          {"incomplete", combination.incomplete},
          {"necessity", necessity},
          {"support", support}};
}

Json sizes_json(const IsolationRecord& record, const CombinationDetail& detail) {
  if (!detail.sizes) return nullptr;
  Json sizes = Json::array();
  const ShrinkResult& result = detail.sizes->result;
  for (std::size_t i = 0; i < detail.sizes->sizes.size(); ++i) {
    const SizeSpec& size = record.target.spec().sizes[detail.sizes->sizes[i]];
    sizes.push_back({{"name", size.name},
                     {"given", size.values.back()},
                     {"found", result.sizes[i]},
                     {"is_smallest", static_cast<bool>(result.is_smallest[i])}});
  }
  return {{"complete", result.complete}, {"trials", result.num_trials}, {"sizes", sizes}};
}

Json combination_json(const IsolationRecord& record, std::size_t c) {
  const Combination& combination = record.result.search.combinations[c];
  const CombinationDetail& detail = record.result.details[c];
  const Space& space = record.target.space();
  Json object{{"switches", settings_json(space, combination.settings)},
              {"fingerprint", combination.fingerprint},
              {"silent", is_silent(combination.fingerprint)},
              {"proven", combination.proven},
              {"flaky", combination.flaky},
              {"failure_rate",
               {{"k", combination.rate.failures},
                {"n", combination.rate.runs},
                {"interval", {combination.rate.interval.low, combination.rate.interval.high}}}},
              {"certificate", certificate_json(space, combination)},
              {"note", detail.note},
              {"sizes", sizes_json(record, detail)}};
  if (record.scenario) object["ranks"] = record.ranks[c];
  object["repeat"] = repeat_line(record, c);
  return object;
}

Json failures_json(const Space& space, const std::vector<SeenFailure>& failures) {
  Json list = Json::array();
  for (const SeenFailure& each : failures)
    list.push_back(
        {{"fingerprint", each.fingerprint}, {"seen", observation_json(space, each.seen)}});
  return list;
}

Json coverage_json(const SearchResult& search) {
  Json list = Json::array();
  for (const StrengthCoverage& each : search.coverage)
    list.push_back({{"strength", each.strength},
                    {"total", each.total},
                    {"run", each.run},
                    {"invalid", each.invalid},
                    {"masked", each.masked},
                    {"left_out", each.left_out}});
  return list;
}

Json attribution_json(const IsolationRecord& record, const FixAttribution& attribution) {
  const FixFinding& finding = *record.result.fixes;
  Json object;
  object["fixes"] = Json::array();
  for (const std::size_t fix : attribution.fixes)
    object["fixes"].push_back(record.target.spec().fixes[fix].name);
  object["verdict"] = to_string(attribution.verdict);
  object["in_words"] = verdict_in_words(record, attribution);
  object["effects"] = Json::array();
  for (const FixCellEffect& effect : attribution.effects) {
    Json each{{"cell", effect.cell}, {"effect", effect_in_words(record, effect)}};
    if (!effect.seen.trial.fingerprint.empty()) each["fingerprint"] = effect.seen.trial.fingerprint;
    const TrialCost extra =
        extra_cost(record.target, record.journal, finding.cells[effect.cell], attribution.fixes);
    for (const auto& [name, amount] : extra) each["extra_cost"][name] = amount;
    object["effects"].push_back(std::move(each));
  }
  return object;
}

Json fixes_json(const IsolationRecord& record) {
  if (!record.result.fixes) return nullptr;
  const FixFinding& finding = *record.result.fixes;
  Json cells = Json::array();
  for (const FixCell& cell : finding.cells) {
    Json combinations = Json::array();
    for (const std::size_t c : cell.combinations) combinations.push_back(c);
    const Assignment switches(
        cell.trial.begin(),
        cell.trial.begin() + static_cast<std::ptrdiff_t>(record.target.space().switches.size()));
    cells.push_back({{"switches", assignment_json(record.target.space(), switches)},
                     {"fails", !cell.combinations.empty()},
                     {"combinations", combinations}});
  }
  Json object{
      {"complete", finding.result.complete}, {"repeats", finding.repeats}, {"cells", cells}};
  for (const auto& [key, list] :
       {std::pair{"alone", &finding.result.alone}, std::pair{"pairs", &finding.result.pairs}}) {
    object[key] = Json::array();
    for (const FixAttribution& each : *list) object[key].push_back(attribution_json(record, each));
  }
  object["unresolved_cells"] = finding.result.unresolved_cells;
  return object;
}

// Every finished trial with the machine that ran it: merged journals are one matrix.
Json matrix_json(const IsolationRecord& record) {
  static const char* const names[] = {"pass", "fail", "unresolved"};
  Json list = Json::array();
  for (const TrialRecord& trial : record.journal.records()) {
    // Text, as an array would take a line for each switch.
    Json each{{"assignment", fmt::format("{}", fmt::join(trial.assignment, " "))},
              {"status", names[static_cast<std::size_t>(trial.trial.status)]}};
    if (!trial.trial.fingerprint.empty()) each["fingerprint"] = trial.trial.fingerprint;
    each["origin"] = trial.origin;
    list.push_back(std::move(each));
  }
  return list;
}

Json target_json(const IsolationRecord& record) {
  Json object;
  if (record.scenario)
    object = {{"scenario", record.scenario->name},
              {"title", record.scenario->title},
              {"upstream", record.scenario->upstream}};
  object["description"] = record.target.description();
  object["switches"] = Json::array();
  for (const Switch& each : record.target.trial_space().switches)
    object["switches"].push_back({{"name", each.name}, {"values", each.values}});
  object["constraints"] = Json::array();
  for (const Constraint& each : record.target.space().constraints)
    object["constraints"].push_back(each.text);
  return object;
}

// Every text value; names of fields and switches stay.
void mask(Json& value, Redactor& redactor) {
  if (value.is_string())
    value = redactor.text(value.get<std::string>());
  else if (value.is_structured())
    for (Json& each : value) mask(each, redactor);
}

}  // namespace

std::string isolation_json(const IsolationRecord& record, Redactor& redactor) {
  const SearchResult& search = record.result.search;
  const Space& space = record.target.space();
  Json report{{"schema", kIsolationSchema},
              {"tool", kVersionText},
              {"kind", "isolation"},
              {"complete", record.is_complete()},
              {"stopped", stop_in_words(record)},
              {"trials", record.result.trials},
              {"distinct_assignments", search.distinct_assignments},
              {"exhaustive", search.exhaustive},
              {"flaky", search.flaky}};
  report["minimal_combinations"] = Json::array();
  for (std::size_t c = 0; c < record.result.details.size(); ++c)
    report["minimal_combinations"].push_back(combination_json(record, c));
  report["unreproduced"] = failures_json(space, search.unreproduced);
  report["unreduced"] = failures_json(space, search.unreduced);
  report["coverage"] = coverage_json(search);
  report["fixes"] = fixes_json(record);
  report["notices"] = all_notices(record);
  report["target"] = target_json(record);
  report["matrix"] = matrix_json(record);
  if (!record.launch.file.empty())
    report["launch_script"] = launch_json(record.launch);
  Json run{{"command", record.command},
           {"wall_seconds", record.wall_seconds},
           {"resumed_trials", record.resumed_trials}};
  for (const auto& [name, value] : record.environment) run["environment"][name] = value;
  report["run"] = run;
  mask(report, redactor);
  return report.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace culprit
