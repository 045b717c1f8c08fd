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
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!value.is_string()) return value.get<double>();
  if (value == "inf") return kInfinity;
  return value == "-inf" ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
}

Json place_json(const Place& place) {
  Json object{{"stage", place.stage},
              {"ranks", place.ranks},
              {"micro_batch", place.micro_batch},
              {"phase", place.phase},
              {"tensor", place.tensor}};
  if (const auto& bad = place.value)
    object["value"] = {{"row", bad->row},
                       {"col", bad->col},
                       {"got", number(bad->got)},
                       {"expected", number(bad->expected)},
                       {"deviation", number(bad->deviation)}};
  return object;
}

Place parse_place(const Json& object) {
  Place place{.stage = object.at("stage"),
              .ranks = object.at("ranks"),
              .micro_batch = object.at("micro_batch"),
              .phase = object.at("phase"),
              .tensor = object.at("tensor")};
  if (object.contains("value")) {
    const Json& value = object["value"];
    place.value = BadValue{.row = value.at("row"),
                           .col = value.at("col"),
                           .got = to_number(value.at("got")),
                           .expected = to_number(value.at("expected")),
                           .deviation = to_number(value.at("deviation"))};
  }
  return place;
}

Outcome outcome_from(const Json& line) {
  Outcome outcome;
  const auto name = line.at("outcome").get<std::string>();
  const auto outcome_class = outcome_named(name);
  if (!outcome_class) throw SetupError("unknown outcome '" + name + "'");
  outcome.outcome = *outcome_class;
  outcome.kind = line.at("kind");
  outcome.where = line.at("where");
  outcome.message = line.value("message", "");
  if (line.contains("first")) outcome.first = parse_place(line["first"]);
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
}

// Runs `read` on the object of a line. Errors: SetupError.
template <class Read>
auto read_line(std::string_view text, Read read) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& error) {
    throw SetupError(
        fmt::format("not an outcome line: {}; got '{}'", error.what(), text.substr(0, 200)));
  }
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
  if (outcome.first) line["first"] = place_json(*outcome.first);
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

Outcome parse_json_line(std::string_view text) { return read_line(text, outcome_from); }

std::string scenario_of_json_line(std::string_view text) {
  return read_line(text, [](const Json& line) { return line.at("scenario").get<std::string>(); });
}

std::vector<std::pair<std::string, std::string>> settings_of_json_line(std::string_view text) {
  return read_line(text, [](const Json& line) {
    std::vector<std::pair<std::string, std::string>> settings;
    for (const auto& [name, value] : line.at("cell").items())
      settings.emplace_back(name, value.get<std::string>());
    return settings;
  });
}

}  // namespace culprit
