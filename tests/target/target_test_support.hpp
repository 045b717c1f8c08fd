// Shared by the target tests: an error's text, files, all assignments of a space.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "process/process_test_support.hpp"
#include "target/command_target.hpp"

namespace culprit {

// The text of the UsageError that `action` throws; "(none)" when it throws none.
template <typename Action>
std::string usage_error(Action action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(none)";
}

#define EXPECT_USAGE_ERROR(action, part)                                                         \
  do {                                                                                           \
    const std::string text_ = usage_error([&] { action; });                                      \
    EXPECT_NE(text_.find(part), std::string::npos) << "expected '" << part << "' in: " << text_; \
  } while (false)

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}
inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline std::vector<Assignment> all_assignments(const Space& space) {
  std::vector<Assignment> result{{}};
  for (const Switch& each : space.switches) {
    std::vector<Assignment> longer;
    for (const Assignment& shorter : result)
      for (std::size_t v = 0; v < each.values.size(); ++v) {
        longer.push_back(shorter);
        longer.back().push_back(static_cast<std::uint16_t>(v));
      }
    result = std::move(longer);
  }
  return result;
}

}  // namespace culprit
