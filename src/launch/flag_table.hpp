// The table of launch flags, list words and configuration keys (rows in flags.def).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace culprit::launch {

enum class FlagClass {
  kSwitch,      // a modelled switch
  kSize,        // a modelled size, or gives one
  kRecognised,  // known, and not modelled
  kUnknown,     // not in the table, or its value is not known
};

// Which frameworks have the flag; bits.
enum DialectBit : unsigned { kPaddleBit = 1, kMegatronBit = 2, kDeepSpeedBit = 4 };

enum class Setting {
  kNone,
  kTp,
  kPp,
  kContextParallel,
  kSepParallel,
  kAcc,
  kMicroBatch,
  kLocalBatch,
  kGlobalBatch,
  kLossScale,
  kSkipIdentity,
  kAsyncAllReduce,
  kNoAsyncAllReduce,
  kDelayScaleLoss,
  kReleaseOutputs,
  kRecompute,
  kRecomputeGranularity,
  kReentrant,
  kFp16,
  kBf16,
  kOptLevel,
  kDtypeName,
  kWordList,    // the value is a list of words, each with a row of its own
  kConfigFile,  // the value names a JSON file
};

enum class Arity { kNone, kOne, kOptional, kMany };

struct FlagRow {
  std::string_view name;  // with underscores and without dashes; "list:word" for a word of a list
  unsigned dialects;
  FlagClass cls;
  Setting setting;
  Arity arity;
  std::string_view meaning;
};

std::span<const FlagRow> flag_rows();

// Rows by name; dashes, underscores, leading dashes and "=value" do not matter. Null if there is
// none.
const FlagRow* find_flag(std::string_view flag);
// A word of a list flag, e.g. ("tensor_parallel_config", "enable_mp_skip_c_identity").
const FlagRow* find_list_word(std::string_view list, std::string_view word);
// The key of a KEY=VALUE that is given after -o, e.g. "Distributed.mp_degree".
const FlagRow* find_override(std::string_view key);
// A key of a DeepSpeed configuration, e.g. "fp16.enabled".
const FlagRow* find_config_key(std::string_view path);

// The kebab-case name of what a setting stands for ("skip-c-identity"); empty for kNone and
// helpers.
std::string_view setting_name(Setting setting);

// "--some-flag=3" -> "some_flag".
std::string normalise_flag(std::string_view flag);

}  // namespace culprit::launch
