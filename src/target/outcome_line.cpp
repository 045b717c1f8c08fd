#include "target/outcome_line.hpp"

#include <nlohmann/json.hpp>

#include "terminal/escape.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string()
             ? escape_controls(found->get_ref<const std::string&>())
             : "";
}

std::optional<OutcomeLine> parse(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("schema") || !json.contains("kind")) return std::nullopt;
  const std::string outcome = text_at(json, "outcome");
  if (outcome.empty()) return std::nullopt;
  OutcomeLine result;
  result.has_passed = outcome == "PASS";
  result.message = text_at(json, "message");
  if (const auto cost = json.find("cost"); cost != json.end() && cost->is_object())
    for (const auto& [name, amount] : cost->items())
      if (amount.is_number_integer())
        result.cost.emplace_back(escape_controls(name), amount.get<std::int64_t>());
  if (result.has_passed) return result;
  result.fingerprint = text_at(json, "fingerprint");
  if (!result.fingerprint.empty()) return result;
  result.fingerprint = outcome;
  if (const std::string kind = text_at(json, "kind"); !kind.empty())
    result.fingerprint += ':' + kind;
  std::string phase = text_at(json, "phase");
  if (const auto first = json.find("first");
      phase.empty() && first != json.end() && first->is_object())
    phase = text_at(*first, "phase");
  if (!phase.empty()) result.fingerprint += '@' + phase;
  return result;
}

}  // namespace

std::optional<OutcomeLine> find_outcome_line(std::string_view out) {
  while (!out.empty()) {
    if (out.back() == '\n') out.remove_suffix(1);
    const std::size_t begin = out.rfind('\n') == std::string_view::npos ? 0 : out.rfind('\n') + 1;
    const std::string_view line = out.substr(begin);
    // Parsing is slow beside looking, and most lines of a training run are not ours.
    if (line.starts_with('{') && line.find("\"outcome\"") != std::string_view::npos)
      if (auto result = parse(line)) return result;
    out = out.substr(0, begin);
  }
  return std::nullopt;
}

}  // namespace culprit
