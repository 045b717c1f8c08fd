#include "target/journal_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr const char* kKind = "culprit-trials";
constexpr std::array<const char*, 3> kStatusNames{"pass", "fail",
                                                  "unresolved"};  // in the order of Trial::Status

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Json to_json(const Space& space) {
  Json json;
  json["switches"] = Json::array();
  for (const Switch& each : space.switches)
    json["switches"].push_back({{"name", each.name}, {"values", each.values}});
  json["constraints"] = Json::array();
  for (const Constraint& constraint : space.constraints) {
    Json settings = Json::array();
    for (const Setting& setting : constraint.all_of)
      settings.push_back({setting.which, setting.value});
    json["constraints"].push_back({{"all_of", settings}, {"text", constraint.text}});
  }
  return json;
}

Space to_space(const Json& json) {
  Space space;
  for (const Json& each : json.at("switches"))
    space.switches.push_back({each.at("name"), each.at("values")});
  for (const Json& each : json.at("constraints")) {
    Constraint constraint{{}, each.at("text")};
    for (const Json& setting : each.at("all_of"))
      constraint.all_of.push_back({setting.at(0), setting.at(1)});
    space.constraints.push_back(std::move(constraint));
  }
  return space;
}

Assignment to_assignment(const Json& json, const Space& space) {
  Assignment assignment = json;
  bool is_of_space = assignment.size() == space.switches.size();
  for (std::size_t i = 0; is_of_space && i < assignment.size(); ++i)
    is_of_space = assignment[i] < space.switches[i].values.size();
  if (!is_of_space) throw UsageError("an assignment that is not of the header's space");
  return assignment;
}

HeaderLine to_header(const Json& json) {
  if (json.at("journal") != kKind) throw UsageError("not a journal of trials");
  if (json.at("schema") != kSchema)
    throw UsageError(
        fmt::format("schema {}, this version reads {}", json.at("schema").dump(), kSchema));
  return {{to_space(json.at("space")), json.at("description")}, json.at("origin")};
}

TrialRecord to_record(const Json& json, const Space& space, const std::string& journal_origin) {
  TrialRecord record;
  record.id = json.at("done");
  record.origin = json.value("origin", journal_origin);
  record.assignment = to_assignment(json.at("assignment"), space);
  const std::string status = json.at("status");
  const auto found = std::find(kStatusNames.begin(), kStatusNames.end(), status);
  if (found == kStatusNames.end()) throw UsageError(fmt::format("status '{}'", status));
  record.trial.status = static_cast<Trial::Status>(found - kStatusNames.begin());
  record.trial.fingerprint = json.value("fingerprint", "");
  record.seconds = json.at("seconds");
  record.note = json.value("note", "");
  if (json.contains("cost"))
    for (const auto& [name, amount] : json.at("cost").items())
      record.cost.emplace_back(name, amount.get<std::int64_t>());
  return record;
}

}  // namespace

std::string format_header(const HeaderLine& header) {
  return line_of({{"journal", kKind},
                  {"schema", kSchema},
                  {"origin", header.origin},
                  {"description", header.subject.description},
                  {"space", to_json(header.subject.space)}});
}

std::string format_start(const StartLine& start) {
  return line_of({{"start", start.id}, {"assignment", start.assignment}});
}

std::string format_record(const TrialRecord& record, const std::string& journal_origin) {
  Json json{{"done", record.id}};
  if (record.origin != journal_origin) json["origin"] = record.origin;
  json["assignment"] = record.assignment;
  json["status"] = kStatusNames[static_cast<std::size_t>(record.trial.status)];
  if (!record.trial.fingerprint.empty()) json["fingerprint"] = record.trial.fingerprint;
  json["seconds"] = record.seconds;
  if (!record.note.empty()) json["note"] = record.note;
  for (const auto& [name, amount] : record.cost) json["cost"][name] = amount;
  return line_of(json);
}

bool is_cut_header(std::string_view text) {
  const std::string begin = fmt::format("{{\"journal\":\"{}\"", kKind);
  const std::size_t length = std::min(text.size(), begin.size());
  return text.substr(0, length) == begin.substr(0, length) ||
         text.find_first_not_of('\0') == std::string_view::npos;
}

std::optional<JournalLine> parse_journal_line(std::string_view line, const Space* space,
                                              const std::string& journal_origin) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return std::nullopt;
  try {
    if (!space) return to_header(json);
    if (json.contains("start"))
      return StartLine{json.at("start"), to_assignment(json.at("assignment"), *space)};
    return to_record(json, *space, journal_origin);
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("not a line of a journal: {}", error.what()));
  }
}

}  // namespace culprit
