// Launch stage, second half: what a launch's flags mean for this project's model
// (LaunchScript -> LaunchMapping). The rows of the table are in flags.def, explained in
// docs/launch_scripts.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launch/flag_table.hpp"
#include "launch/launch_script.hpp"

namespace culprit::launch {

inline constexpr std::size_t kNoWord = static_cast<std::size_t>(-1);

// One flag, one word of a list flag, or one key of a configuration file, as the launch gives it.
// The strings are the script's own, raw.
struct MappedFlag {
  std::string name;                  // as written: "--recompute", "fp16.enabled"
  std::optional<std::string> value;  // of the flag or key; for a list word the word itself
  bool known = true;                 // false: the value is not known, `note` says why
  FlagClass cls = FlagClass::kUnknown;
  Setting setting = Setting::kNone;
  unsigned dialects = 0;  // of the row; 0 without one
  int line = 0;      // of the flag; of the key in `file` if that is not empty and not in the script
  std::string file;  // the configuration file the key is in; empty for a flag
  std::string note;  // the row's meaning, or why the value is not known
  // Where it is, for edits: Launch index, words of Launch::args, bytes of the value word.
  std::size_t launch = 0;
  std::size_t flag_word = kNoWord;
  std::size_t value_word = kNoWord;  // == flag_word for --flag=value
  SourceRange value_bytes;           // within LaunchWord::text
};

enum class RecomputeKind { kReentrant, kNonReentrant };

struct LaunchMapping {
  unsigned dialects = 0;  // DialectBit of the frameworks used; 0: none recognised
  std::string dialect;    // for people: "Paddle", "Megatron-LM with DeepSpeed", "not recognised"

  // Sizes; empty where the script does not say and the framework's default is not 1.
  std::optional<int> tp;
  std::optional<int> pp;
  std::optional<int> acc;  // micro-batches a step
  std::string why_no_acc;  // where they should follow from batch sizes, but do not; else empty
  std::optional<double> loss_scale;
  std::optional<int> world_size;
  std::optional<int> data_parallel;  // world_size / (tp x pp x context parallel)

  // Switches; empty: the script does not say.
  std::optional<bool> skip_c_identity;
  std::optional<bool> async_all_reduce;
  std::optional<bool> recompute;
  std::optional<RecomputeKind>
      recompute_kind;  // empty although recompute is on: not named, run both
  std::optional<bool> delay_scale_loss;
  std::optional<bool> release_outputs;

  // Recognised, not modelled.
  std::string dtype;      // "fp16", "bf16", or empty
  std::string opt_level;  // "O2", or empty

  std::vector<MappedFlag> flags;     // in the script's order
  std::vector<LaunchNote> notes;     // how a value was derived, which default was taken
  std::vector<LaunchNote> unknowns;  // all that is not known and may matter, the script's included
};

// Throws UsageError, with lines, when the flags contradict: a modelled flag given twice with
// different values, fp16 and bf16 both on, launches that disagree, a size that is no positive
// number.
LaunchMapping map_launch(const LaunchScript& script);

}  // namespace culprit::launch
