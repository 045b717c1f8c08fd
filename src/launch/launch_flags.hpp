// First step of the mapping: every flag, list word and configuration key with its row of the table.
#pragma once

#include <vector>

#include "launch/launch_mapping.hpp"

namespace culprit::launch {

// Appends the flags of one launch, in order, those of its configuration files after the flag that
// names the file. Never throws for what it does not know.
void collect_flags(const LaunchScript& script, std::size_t launch, std::vector<MappedFlag>& flags);

// A flag with what its row says of it. Without a row (null) it is unknown, and its note names
// `table`, the one that lacks it: "flags", "configuration keys".
MappedFlag from_row(const FlagRow* row, const std::string& table, std::string name, int line);

// Appends the keys of a JSON configuration (launch_config.cpp, the one place that parses JSON).
// `as_flags`: keys are flag names (Paddle: the program's arguments in a file), else DeepSpeed's.
void collect_config(const LaunchFile& file, bool as_flags, std::size_t launch, int used_line,
                    std::vector<MappedFlag>& flags);

// The file a launch word names; null if it names none that was looked for.
const LaunchFile* find_launch_file(const LaunchScript& script, const std::string& name);

// Appends the words of a list flag's value: separated by blanks or commas.
void collect_list_words(const FlagRow& list, const MappedFlag& flag, const std::string& value,
                        std::uint32_t offset, std::vector<MappedFlag>& flags);

// map_launch without its refusal of contradictions and without derived sizes: half-way through an
// edit two mentions of a flag may disagree.
LaunchMapping map_flags_only(const LaunchScript& script);

// "1", "true", "True", "on", "yes" ...; nullopt if it is neither true nor false.
std::optional<bool> parse_bool(const std::string& text);

}  // namespace culprit::launch
