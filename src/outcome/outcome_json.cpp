#include "outcome/outcome_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN or infinity: they are written as strings.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value));
}
double to_number(const Json& value) {
  return value.is_string() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

}  // namespace

Json outcome_json(const std::string& scenario, const Cell& cell, const Outcome& outcome) {
  Json line{{"schema", 1}, {"scenario", scenario}};
  for (const Field& row : fields()) line["cell"][row.name] = row.get(cell);
  for (const auto& [name, value] : cell.extra) line["cell"][name] = value;
  line["outcome"] = row_of(outcome.outcome).name;
  line["kind"] = outcome.kind;
  line["where"] = outcome.where;
  line["fingerprint"] = fingerprint(outcome);
  if (!outcome.message.empty()) line["message"] = outcome.message;
  if (const auto& first = outcome.first)
    line["first"] = {{"stage", first->stage},
                     {"ranks", first->ranks},
                     {"micro_batch", first->micro_batch},
                     {"phase", first->phase},
                     {"tensor", first->tensor}};
  if (outcome.loss) line["loss"] = number(*outcome.loss);
  if (outcome.worst) {
    line["worst"] = number(*outcome.worst);
    line["worst_parameter"] = outcome.worst_parameter;
  }
  for (const auto& [name, sum] : outcome.checksums) line["checksum"][name] = number(sum);
  if (outcome.freed) line["freed"] = *outcome.freed;
  line["cost"] = {{"copied_bytes", outcome.copied_bytes},
                  {"peak_bytes", outcome.peak_bytes},
                  {"collectives", outcome.collectives},
                  {"collective_bytes", outcome.collective_bytes}};
  return line;
}

std::string to_json_line(const std::string& scenario, const Cell& cell, const Outcome& outcome) {
  return outcome_json(scenario, cell, outcome)
      .dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

Outcome parse_json_line(std::string_view text) {
  try {
    const Json line = Json::parse(text);
    Outcome outcome;
    const auto name = line.at("outcome").get<std::string>();
    const auto outcome_class = outcome_named(name);
    if (!outcome_class) throw SetupError("unknown outcome '" + name + "'");
    outcome.outcome = *outcome_class;
    outcome.kind = line.at("kind");
    outcome.where = line.at("where");
    outcome.message = line.value("message", "");
    if (line.contains("first")) {
      const Json& first = line["first"];
      outcome.first = Place{.stage = first.at("stage"),
                            .ranks = first.at("ranks"),
                            .micro_batch = first.at("micro_batch"),
                            .phase = first.at("phase"),
                            .tensor = first.at("tensor")};
    }
    if (line.contains("loss")) outcome.loss = to_number(line["loss"]);
    if (line.contains("worst")) {
      outcome.worst = to_number(line["worst"]);
      outcome.worst_parameter = line.at("worst_parameter");
    }
    if (line.contains("checksum"))
      for (const auto& [key, sum] : line["checksum"].items())
        outcome.checksums.emplace_back(key, to_number(sum));
    if (line.contains("freed")) outcome.freed = line["freed"].get<int>();
    const Json& cost = line.at("cost");
    outcome.copied_bytes = cost.at("copied_bytes");
    outcome.peak_bytes = cost.at("peak_bytes");
    outcome.collectives = cost.at("collectives");
    outcome.collective_bytes = cost.at("collective_bytes");
    return outcome;
  } catch (const Json::exception& error) {
    throw SetupError(
        fmt::format("not an outcome line: {}; got '{}'", error.what(), text.substr(0, 200)));
  }
}

}  // namespace culprit
