// The reporter's own script with some modelled switches turned off or sizes changed, and nothing
// else: comments, spacing and quoting stay, byte for byte (LaunchScript + edits -> text).
#pragma once

#include <span>
#include <string>

#include "launch/launch_script.hpp"

namespace culprit::launch {

// `setting` is a name of setting_name(): a switch ("skip-c-identity", "async-all-reduce",
// "recompute", "delay-scale-loss", "release-outputs"; value "off") or a size ("tp", "pp", "acc",
// "loss-scale"; value a number).
struct LaunchEdit {
  std::string setting;
  std::string value;
};

// Carries the edits out where each value is written: in a list, a variable, an array, a
// here-document's command. The result is read again, and must differ from the original in the
// edited arguments alone. A switch that is off already is left as it is. Throws UsageError: an edit
// that names no such setting, a size the script does not give by a flag, or, with the line, a place
// that can't be changed without changing something else (a value that is computed, shared, or in
// another file).
std::string emit_reduced_script(const LaunchScript& script, std::span<const LaunchEdit> edits);

}  // namespace culprit::launch
