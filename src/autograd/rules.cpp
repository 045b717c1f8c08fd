#include "autograd/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"

namespace culprit {
namespace {

const std::vector<FrameworkRules>& table() {
  static const std::vector<FrameworkRules> rows{
      {.name = "paddle@3.3.1", .marked_output_stops_gradient = false, .hooks_accept_none = true},
      {.name = "paddle@2.6.2", .marked_output_stops_gradient = true, .hooks_accept_none = false},
  };
  return rows;
}

}  // namespace

const FrameworkRules& rules_of(std::string_view framework) {
  for (const auto& row : table())
    if (row.name == framework) return row;
  throw UsageError(fmt::format("unknown framework '{}', known: {}", framework,
                               fmt::join(known_frameworks(), ", ")));
}

std::vector<std::string> known_frameworks() {
  std::vector<std::string> names;
  for (const auto& row : table()) names.push_back(row.name);
  return names;
}

}  // namespace culprit
