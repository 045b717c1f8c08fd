#include "repro_files/program_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace culprit {

std::string BlockNumber::text(int offset) const {
  if (!by_stage) return std::to_string(number + offset);
  const int within = number % blocks_a_stage;
  const std::string first =
      blocks_a_stage == 1 ? "stage" : fmt::format("stage * {}", blocks_a_stage);
  return within + offset == 0 ? first : fmt::format("{} + {}", first, within + offset);
}

std::string name_pattern(const std::string& name, int block) {
  const std::string number = std::to_string(block);
  const auto is_digit = [&](std::size_t i) {
    return i < name.size() && name[i] >= '0' && name[i] <= '9';
  };
  for (std::size_t at = name.find(number); at != std::string::npos; at = name.find(number, at + 1))
    if (name.find('#') == std::string::npos && !is_digit(at + number.size()) &&
        (at == 0 || !is_digit(at - 1)))
      return name.substr(0, at) + "#" + name.substr(at + number.size());
  return name;
}

std::string decimal(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

Names::Names(const Routine& routine, const std::vector<int>& kept) {
  for (const int id : kept) kept_.insert(id);
  for (std::size_t i = 0; i < routine.calls.size(); ++i)
    for (const auto& input : routine.calls[i].inputs) last_use_[input.id] = i + 1;
  for (const auto& output : routine.outputs) last_use_[output.id] = routine.calls.size() + 1;
}

const std::string& Names::give_fresh(int id, std::size_t now, bool keep) {
  static constexpr std::array<const char*, 9> kNames{"x", "y", "z", "u", "v", "s", "t", "p", "q"};
  if (keep) kept_.insert(id);
  for (std::size_t n = 0;; ++n) {
    const std::string name = n < kNames.size() ? kNames[n] : fmt::format("t{}", n);
    const bool taken = std::any_of(names_.begin(), names_.end(), [&](const auto& entry) {
      return entry.second == name &&
             (kept_.count(entry.first) > 0 || is_needed_after(entry.first, now));
    });
    if (!taken) return names_[id] = name;
  }
}

const std::string& Names::give_result(const OperatorCall& call, std::size_t now, bool& declared) {
  const bool keep = kept_.count(call.output.id) > 0;
  for (const auto& input : call.inputs) {
    if (names_.count(input.id) == 0 || kept_.count(input.id) > 0 ||
        is_needed_after(input.id, now) || keep)
      continue;
    declared = true;
    return names_[call.output.id] = names_.at(input.id);
  }
  const std::string& name = give_fresh(call.output.id, now, keep);
  declared = !used_.insert(name).second;
  return name;
}

bool Names::is_needed_after(int id, std::size_t now) const {
  const auto place = last_use_.find(id);
  return place != last_use_.end() && place->second > now;
}

}  // namespace culprit
