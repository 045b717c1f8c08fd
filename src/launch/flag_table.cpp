// Look-up in the flag table.
#include "launch/flag_table.hpp"

#include <algorithm>
#include <unordered_map>

namespace culprit::launch {

namespace {

constexpr unsigned P = kPaddleBit;
constexpr unsigned M = kMegatronBit;
constexpr unsigned D = kDeepSpeedBit;

constexpr FlagRow kRows[] = {
#define CULPRIT_FLAG(name, dialects, cls, setting, arity, meaning) \
  {name, dialects, FlagClass::cls, Setting::setting, Arity::arity, meaning},
#include "launch/flags.def"
#include "launch/flags_recognised.def"
#undef CULPRIT_FLAG
};

const std::unordered_map<std::string_view, const FlagRow*>& index() {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const FlagRow*> map;
    for (const FlagRow& row : kRows) map.emplace(row.name, &row);
    return map;
  }();
  return rows;
}

const FlagRow* find(const std::string& name) {
  const auto found = index().find(name);
  return found == index().end() ? nullptr : found->second;
}

}  // namespace

std::span<const FlagRow> flag_rows() { return kRows; }

std::string normalise_flag(std::string_view flag) {
  while (flag.starts_with('-')) flag.remove_prefix(1);
  std::string name(flag.substr(0, flag.find('=')));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const FlagRow* find_flag(std::string_view flag) {
  const std::string name = normalise_flag(flag);
  return name.find(':') == std::string::npos ? find(name) : nullptr;
}

const FlagRow* find_list_word(std::string_view list, std::string_view word) {
  return find(std::string(list) + ":" + std::string(word));
}

const FlagRow* find_override(std::string_view key) { return find("override:" + std::string(key)); }

const FlagRow* find_config_key(std::string_view path) { return find("json:" + std::string(path)); }

std::string_view setting_name(Setting setting) {
  switch (setting) {
    case Setting::kTp:
      return "tp";
    case Setting::kPp:
      return "pp";
    case Setting::kAcc:
      return "acc";
    case Setting::kLossScale:
      return "loss-scale";
    case Setting::kSkipIdentity:
      return "skip-c-identity";
    case Setting::kAsyncAllReduce:
    case Setting::kNoAsyncAllReduce:
      return "async-all-reduce";
    case Setting::kDelayScaleLoss:
      return "delay-scale-loss";
    case Setting::kReleaseOutputs:
      return "release-outputs";
    case Setting::kRecompute:
    case Setting::kRecomputeGranularity:
      return "recompute";
    case Setting::kReentrant:
      return "recompute-kind";
    default:
      return {};
  }
}

}  // namespace culprit::launch
