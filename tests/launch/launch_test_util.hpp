// Shared by the launch tests: scripts from text and from tests/data/launch.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "gtest/gtest.h"
#include "launch/launch_mapping.hpp"
#include "launch/launch_script.hpp"

namespace culprit::launch {

inline std::filesystem::path launch_data(const std::string& name) {
  return std::filesystem::path(CULPRIT_TEST_DATA) / "launch" / name;
}

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline LaunchScript script_of(std::string_view text) {
  return parse_launch_script(text, "no_such_folder/job.sh");
}
inline LaunchMapping map_of(std::string_view text) { return map_launch(script_of(text)); }

// The message of the UsageError that `action` throws; fails if it throws none.
template <typename Action>
std::string usage_error(Action&& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no UsageError";
  return {};
}

inline bool has_note(const std::vector<LaunchNote>& notes, int line, std::string_view part) {
  return std::any_of(notes.begin(), notes.end(), [&](const LaunchNote& note) {
    return note.line == line && note.text.find(part) != std::string::npos;
  });
}

inline const MappedFlag* flag_named(const LaunchMapping& map, std::string_view name) {
  for (const MappedFlag& flag : map.flags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

// The arguments of the only launch, joined by '|'.
inline std::string joined_args(std::string_view text) {
  const LaunchScript script = script_of(text);
  std::string all;
  for (const LaunchWord& word : script.launches.at(0).args)
    all += (all.empty() ? "" : "|") + word.text;
  return all;
}

}  // namespace culprit::launch
