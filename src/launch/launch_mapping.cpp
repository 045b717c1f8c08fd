// Second step of the mapping: from flags to settings, refusing contradictions.
#include "launch/launch_mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "launch/launch_flags.hpp"
#include "launch/launch_sizes.hpp"

namespace culprit::launch {

namespace {

std::string place(const MappedFlag& flag) {
  return flag.file.empty() ? fmt::format("line {}", flag.line)
                           : fmt::format("{} line {}", flag.file, flag.line);
}

[[noreturn]] void refuse(const LaunchScript& script, const std::string& why) {
  throw UsageError(fmt::format("[launch.map] {}: {}", script.path.string(), why));
}

std::optional<double> parse_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

class Mapper {
 public:
  Mapper(const LaunchScript& script, bool strict) : script_(script), strict_(strict) {}

  LaunchMapping run() {
    map_.unknowns = script_.unknowns;
    map_.notes = script_.assumptions;
    for (std::size_t i = 0; i < script_.launches.size(); ++i) collect_flags(script_, i, map_.flags);
    find_dialects();
    for (MappedFlag& flag : map_.flags) read(flag);
    if (strict_ && settled_.contains(Setting::kFp16) && settled_.contains(Setting::kBf16)) {
      const Settled& a = settled_.at(Setting::kFp16);
      const Settled& b = settled_.at(Setting::kBf16);
      if (a.value == "true" && b.value == "true") {
        refuse(script_, fmt::format("fp16 ({}) and bf16 ({}) are both on; expected one",
                                    place(*a.flag), place(*b.flag)));
      }
    }
    apply();
    if (strict_) derive_sizes(script_, map_, batch_);
    return std::move(map_);
  }

 private:
  struct Settled {
    std::string value;
    const MappedFlag* flag = nullptr;
  };

  void find_dialects() {
    unsigned bits = 0;
    for (const Launch& launch : script_.launches) {
      if (launch.launcher == Launcher::kPaddle) bits |= kPaddleBit;
      if (launch.launcher == Launcher::kDeepSpeed) bits |= kDeepSpeedBit;
    }
    const auto tells = [](const MappedFlag& flag) {
      return flag.cls == FlagClass::kSwitch || flag.cls == FlagClass::kSize ||
             flag.setting == Setting::kConfigFile ||
             (flag.cls == FlagClass::kUnknown && flag.setting != Setting::kNone);
    };
    for (const MappedFlag& flag : map_.flags) {
      const bool single = flag.dialects == kPaddleBit || flag.dialects == kMegatronBit ||
                          flag.dialects == kDeepSpeedBit;
      if (single && tells(flag)) bits |= flag.dialects;
    }
    // PaddleFormers took over names of Megatron-LM's: without a sign of Paddle they are the
    // latter's.
    const bool is_paddle = (bits & kPaddleBit) != 0;
    for (const MappedFlag& flag : map_.flags) {
      if (!is_paddle && flag.dialects == (kPaddleBit | kMegatronBit) && tells(flag))
        bits |= kMegatronBit;
    }
    map_.dialects = bits;
    std::string name;
    if ((bits & kPaddleBit) != 0) name = "Paddle";
    if ((bits & kMegatronBit) != 0) name += name.empty() ? "Megatron-LM" : " with Megatron-LM";
    if ((bits & kDeepSpeedBit) != 0) name += name.empty() ? "DeepSpeed" : " with DeepSpeed";
    map_.dialect = name.empty() ? "not recognised" : name;
  }

  // What the flag says about its setting, in a form that two mentions can be compared in.
  std::optional<std::string> canonical(MappedFlag& flag) {
    const std::string value = flag.value.value_or("");
    switch (flag.setting) {
      case Setting::kSkipIdentity:
      case Setting::kDelayScaleLoss:
        return "true";
      case Setting::kNoAsyncAllReduce:
        return "false";
      case Setting::kAsyncAllReduce:
        return "true";
      case Setting::kRecompute:
      case Setting::kReentrant:
      case Setting::kReleaseOutputs:
      case Setting::kFp16:
      case Setting::kBf16:
        return boolean(flag);
      case Setting::kRecomputeGranularity:
        if ((map_.dialects & kPaddleBit) != 0) {
          flag.cls = FlagClass::kRecognised;  // says of what, not whether
          flag.setting = Setting::kNone;
          return std::nullopt;
        }
        return value.empty() || value == "None" ? "false" : "true";
      case Setting::kTp:
      case Setting::kPp:
      case Setting::kContextParallel:
      case Setting::kSepParallel:
        return size(flag, /*none_is_one=*/true);
      case Setting::kAcc:
      case Setting::kMicroBatch:
      case Setting::kLocalBatch:
      case Setting::kGlobalBatch:
        return size(flag, /*none_is_one=*/false);
      case Setting::kLossScale:
        return number(flag);
      case Setting::kOptLevel:
      case Setting::kDtypeName:
      case Setting::kWordList:
        return value;
      default:
        return std::nullopt;
    }
  }

  std::optional<std::string> boolean(MappedFlag& flag) {
    if (!flag.value) return "true";  // a bare flag
    const auto value = parse_bool(*flag.value);
    if (!value) {
      unknown(flag, fmt::format("\"{}\" is neither true nor false", *flag.value));
      return std::nullopt;
    }
    return *value ? "true" : "false";
  }

  std::optional<std::string> size(MappedFlag& flag, bool none_is_one) {
    const auto value = parse_number(*flag.value);
    if (flag.value == "auto") {
      unknown(flag, "\"auto\" is decided at run time");
      return std::nullopt;
    }
    if (!value || *value != std::floor(*value) || std::abs(*value) > 1e9) {
      refuse(script_, fmt::format("{}: {} {}: expected a whole number", place(flag), flag.name,
                                  *flag.value));
    }
    if (none_is_one && (*value == -1 || *value == 0)) return "1";
    if (*value < 1) {
      refuse(script_,
             fmt::format("{}: {} {}: expected at least 1", place(flag), flag.name, *flag.value));
    }
    return fmt::format("{}", static_cast<long long>(*value));
  }

  std::optional<std::string> number(MappedFlag& flag) {
    const auto value = parse_number(*flag.value);
    if (!value || *value < 0) {
      refuse(script_, fmt::format("{}: {} {}: expected a number of at least 0", place(flag),
                                  flag.name, *flag.value));
    }
    if (*value == 0) {
      map_.notes.push_back(
          {flag.line, "the loss scale is dynamic; which one a step uses is not known"});
      dynamic_scale_ = &flag;
      return std::nullopt;
    }
    return fmt::format("{}", *value);
  }

  void unknown(MappedFlag& flag, const std::string& why) {
    flag.known = false;
    flag.note = why;
    if (flag.cls != FlagClass::kRecognised) flag.cls = FlagClass::kUnknown;
  }

  void read(MappedFlag& flag) {
    if (flag.known && flag.setting != Setting::kNone) {
      if (const auto value = canonical(flag)) settle(flag, *value);
    }
    if (flag.known || (flag.cls == FlagClass::kRecognised && flag.setting == Setting::kNone))
      return;
    // A word that is not known and stands alone may hold any flag.
    const std::string shown = flag.value ? flag.name + " " + *flag.value : flag.name;
    map_.unknowns.push_back({flag.line, fmt::format("{}: {}", shown, flag.note)});
  }

  void settle(const MappedFlag& flag, const std::string& value) {
    Setting key = flag.setting;
    if (key == Setting::kNoAsyncAllReduce) key = Setting::kAsyncAllReduce;
    if (key == Setting::kRecomputeGranularity) key = Setting::kRecompute;
    if (key == Setting::kWordList) {  // each list is a setting of its own
      const auto [found, is_new] =
          lists_.try_emplace(normalise_flag(flag.name), Settled{value, &flag});
      if (!is_new) compare(found->second, flag, value);
      return;
    }
    const auto [found, is_new] = settled_.try_emplace(key, Settled{value, &flag});
    if (!is_new) compare(found->second, flag, value);
  }

  void compare(const Settled& before, const MappedFlag& flag, const std::string& value) const {
    if (before.value == value || !strict_) return;
    const bool launches = before.flag->launch != flag.launch;
    refuse(script_,
           fmt::format("{}: {} {} contradicts {} {} of {}{}", place(flag), flag.name,
                       flag.value.value_or(""), before.flag->name, before.flag->value.value_or(""),
                       place(*before.flag), launches ? "; the script's launches disagree" : ""));
  }

  std::optional<bool> flag_of(Setting setting) const {
    const auto found = settled_.find(setting);
    if (found == settled_.end()) return std::nullopt;
    return found->second.value == "true";
  }
  std::optional<int> int_of(Setting setting) const {
    const auto found = settled_.find(setting);
    if (found == settled_.end()) return std::nullopt;
    return std::stoi(found->second.value);
  }
  std::string text_of(Setting setting) const {
    const auto found = settled_.find(setting);
    return found == settled_.end() ? std::string() : found->second.value;
  }

  void apply() {
    map_.tp = int_of(Setting::kTp);
    map_.pp = int_of(Setting::kPp);
    map_.acc = int_of(Setting::kAcc);
    batch_.micro = int_of(Setting::kMicroBatch);
    batch_.global = int_of(Setting::kGlobalBatch);
    batch_.local = int_of(Setting::kLocalBatch);
    batch_.sequence_split =
        int_of(Setting::kContextParallel).value_or(1) * int_of(Setting::kSepParallel).value_or(1);
    if (settled_.contains(Setting::kLossScale)) {
      const MappedFlag& flag = *settled_.at(Setting::kLossScale).flag;
      if (dynamic_scale_ != nullptr && flag.file.empty() && !dynamic_scale_->file.empty()) {
        map_.notes.push_back(
            {flag.line,
             fmt::format("{} {} does not count: {} of {} makes the loss scale dynamic", flag.name,
                         flag.value.value_or(""), dynamic_scale_->name, place(*dynamic_scale_))});
      } else {
        map_.loss_scale = parse_number(text_of(Setting::kLossScale));
      }
    }
    map_.skip_c_identity = flag_of(Setting::kSkipIdentity);
    map_.async_all_reduce = flag_of(Setting::kAsyncAllReduce);
    map_.delay_scale_loss = flag_of(Setting::kDelayScaleLoss);
    map_.release_outputs = flag_of(Setting::kReleaseOutputs);
    map_.recompute = flag_of(Setting::kRecompute);
    if (const auto reentrant = flag_of(Setting::kReentrant)) {
      map_.recompute_kind = *reentrant ? RecomputeKind::kReentrant : RecomputeKind::kNonReentrant;
    } else if (map_.recompute.value_or(false)) {
      map_.notes.push_back({settled_.at(Setting::kRecompute).flag->line,
                            "recompute is on, its kind (reentrant or not) is not named"});
    }
    if (flag_of(Setting::kFp16).value_or(false)) map_.dtype = "fp16";
    if (flag_of(Setting::kBf16).value_or(false)) map_.dtype = "bf16";
    if (map_.dtype.empty()) map_.dtype = text_of(Setting::kDtypeName);
    map_.opt_level = text_of(Setting::kOptLevel);
    // A list that was given without the word turns the switch off.
    for (const auto& [name, list] : lists_) {
      if (name != "tensor_parallel_config") continue;
      if (!map_.skip_c_identity) map_.skip_c_identity = false;
      if (!map_.async_all_reduce) map_.async_all_reduce = false;
    }
  }

  const LaunchScript& script_;
  bool strict_;  // refuse contradictions, derive sizes
  LaunchMapping map_;
  BatchSizes batch_;
  const MappedFlag* dynamic_scale_ = nullptr;
  std::map<Setting, Settled> settled_;
  std::map<std::string, Settled> lists_;
};

}  // namespace

LaunchMapping map_launch(const LaunchScript& script) {
  return Mapper(script, /*strict=*/true).run();
}

LaunchMapping map_flags_only(const LaunchScript& script) {
  return Mapper(script, /*strict=*/false).run();
}

}  // namespace culprit::launch
