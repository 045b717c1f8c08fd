#include "report/triage_json.hpp"

#include <nlohmann/json.hpp>

namespace culprit {

namespace {
using Json = nlohmann::ordered_json;
}  // namespace

Json triage_json(const Triage& triage) {
  Json backends = Json::array();
  for (const TriageRow& row : triage.rows) {
    Json entry{{"backend", row.backend}};
    if (!row.absent.empty()) {
      entry["absent"] = row.absent;
    } else {
      entry["failing"] = row.failing;
      if (row.twin) entry["twin"] = *row.twin;
      if (row.waited) entry["waited"] = *row.waited;
    }
    entry["blocking"] = row.is_blocking;
    backends.push_back(std::move(entry));
  }
  return {
      {"verdict", name_of(triage.verdict)}, {"in_words", triage.in_words}, {"backends", backends}};
}

std::vector<Triage> triage_from(const Json& list) {
  std::vector<Triage> result;
  for (const Json& item : list) {
    Triage triage;
    triage.verdict = triage_verdict_named(item.at("verdict").get<std::string>())
                         .value_or(TriageVerdict::kUndecided);
    triage.in_words = item.at("in_words");
    for (const Json& entry : item.at("backends")) {
      TriageRow row{.backend = entry.at("backend"),
                    .absent = entry.value("absent", ""),
                    .failing = entry.value("failing", ""),
                    .twin = {},
                    .waited = {},
                    .is_blocking = entry.at("blocking")};
      if (entry.contains("twin")) row.twin = entry["twin"].get<std::string>();
      if (entry.contains("waited")) row.waited = entry["waited"].get<std::string>();
      triage.rows.push_back(std::move(row));
    }
    result.push_back(std::move(triage));
  }
  return result;
}

}  // namespace culprit
