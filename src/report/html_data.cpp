#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "report/explain.hpp"
#include "report/html_report.hpp"
#include "report/matrix_picture.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

Json shown(const std::string& text) { return escape_controls(text); }

Json cell_json(const JobResult& job, const FailureKey& key,
               const std::map<Choice, std::size_t>& places, std::size_t index) {
  const Outcome& outcome = job.outcomes[index];
  const Choice& choice = job.matrix.choices[index];
  Json cell{{"label", label_of(job.matrix, choice)},
            {"verdict", html_class(outcome)},
            {"words", shown(outcome_in_words(outcome))}};
  if (outcome.outcome != OutcomeClass::kPass) {
    cell["letter"] = key.letter(outcome);
    cell["fingerprint"] = fingerprint(outcome);
    cell["bad"] = shown(first_bad_in_words(job, choice, outcome));
    cell["where"] = shown(outcome.where);
  }
  if (!outcome.message.empty()) cell["message"] = escape_controls_keep_lines(outcome.message);
  if (const std::size_t number = minimal_number(job, index)) cell["minimal"] = number;
  if (outcome.worst) {
    cell["worst"] = fmt::format("{:.3g}", *outcome.worst);
    cell["worst_parameter"] = outcome.worst_parameter;
  }
  if (outcome.loss) cell["loss"] = fmt::format("{:.7g}", *outcome.loss);
  for (const auto& [name, sum] : outcome.checksums)
    cell["checksum"].push_back({name, fmt::format("{:.6g}", sum)});
  cell["cost"] = {{"copied_bytes", outcome.copied_bytes},
                  {"peak_bytes", outcome.peak_bytes},
                  {"collectives", outcome.collectives},
                  {"collective_bytes", outcome.collective_bytes}};
  cell["smaller"] = one_smaller(places, choice);
  cell["flags"] = shown(shell_line(program_flags(cell_of(job.matrix, choice))));
  return cell;
}

}  // namespace

std::string html_data(const RunRecord& record) {
  Json jobs = Json::array();
  for (const JobResult& job : record.jobs) {
    const FailureKey key(job);
    const auto places = places_of(job.matrix);
    Json cells = Json::array();
    for (std::size_t i = 0; i < job.outcomes.size(); ++i)
      cells.push_back(cell_json(job, key, places, i));
    jobs.push_back({{"prefix", escape_controls(shell_line({program_of(record)})) + " "},
                    {"start", job.minimal.empty() ? 0 : job.minimal.front().index},
                    {"cells", cells}});
  }
  const Json data{{"bounds", bounds_in_words(record)}, {"jobs", jobs}};
  // Neither "</script>" nor "<!--" can stand in it.
  std::string text;
  for (const char c : data.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace))
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

}  // namespace culprit
