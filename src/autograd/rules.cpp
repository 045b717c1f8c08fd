#include "autograd/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"

namespace culprit {
namespace {

const std::vector<FrameworkRules>& releases() {
  static const std::vector<FrameworkRules> rows{
      {.name = "paddle@3.3.1", .marked_output_stops_gradient = false, .hooks_accept_none = true},
      {.name = "paddle@2.6.2", .marked_output_stops_gradient = true, .hooks_accept_none = false},
      {.name = "torch@2.15.0",
       .speaks_torch = true,
       .returned_input_is_inplace = false,
       .has_output_marks = true,
       .unneeded_gradient_is_error = false,
       .missing_gradient_stays_none = true,
       .stopped_root_is_error = true,
       .function_saves_are_checked = true,
       .matmul_saves_what_it_needs = true,
       .scale_is_freed = true,
       .add_shares_gradient = true,
       .newest_node_first = true,
       .replay_checks_inputs = true,
       .replay_stops_early = true,
       .supplied_value_keeps_need = true,
       .hooks_nest = true,
       .reshape_gives_view = true,
       .releases_any_version = true,
       .release_refuses_views = true,
       .models_released_reads = false},
  };
  return rows;
}

const FrameworkRules& release(std::string_view name) {
  for (const auto& row : releases())
    if (row.name == name) return row;
  throw UsageError(fmt::format("unknown framework '{}', known: {}", name, fmt::join(known_frameworks(), ", ")));
}

// Each release with each single rule of PyTorch that it does not have.
const std::vector<FrameworkRules>& mixtures() {
  static const std::vector<FrameworkRules> rows = [] {
    std::vector<FrameworkRules> made;
    const FrameworkRules& other = release(kComparedFramework);
    for (const FrameworkRules& base : releases())
      for (const NamedRule& rule : named_rules()) {
        if (base.*rule.field == other.*rule.field) continue;
        FrameworkRules mixed = base;
        mixed.name += "+" + rule.name;
        mixed.*rule.field = other.*rule.field;
        made.push_back(std::move(mixed));
      }
    return made;
  }();
  return rows;
}

}  // namespace

const std::vector<NamedRule>& named_rules() {
  static const std::vector<NamedRule> rows{
      {"new_handle", "a new handle for an input returned as is", &FrameworkRules::returned_input_is_inplace},
      {"gradient_dropped", "a gradient for an input that needs none is dropped",
       &FrameworkRules::unneeded_gradient_is_error},
      {"none_accepted", "a none may be saved under saved-tensor hooks", &FrameworkRules::hooks_accept_none},
      {"need_kept", "a saved value that hooks give back needs a gradient as before",
       &FrameworkRules::supplied_value_keeps_need},
      {"hooks_nest", "saved-tensor hooks nest", &FrameworkRules::hooks_nest},
      {"none_passed_on", "operators pass on that no gradient arrived", &FrameworkRules::missing_gradient_stays_none},
      {"saves_checked", "what a custom function saves is checked for in-place changes",
       &FrameworkRules::function_saves_are_checked},
      {"inputs_checked", "a recomputed block's inputs are checked for in-place changes",
       &FrameworkRules::replay_checks_inputs},
      {"replay_stops_early", "a second run ends once it has saved what is needed", &FrameworkRules::replay_stops_early},
      {"reshape_gives_view", "a reshape to the same shape is a view", &FrameworkRules::reshape_gives_view},
      {"root_checked", "backward from a tensor that needs no gradient is an error",
       &FrameworkRules::stopped_root_is_error},
      {"views_not_released", "releasing a view is an error", &FrameworkRules::release_refuses_views},
      {"any_version_released", "an output is released at any in-place version", &FrameworkRules::releases_any_version},
  };
  return rows;
}

const FrameworkRules& rules_of(std::string_view framework) {
  const auto plus = framework.find('+');
  if (plus == std::string_view::npos) return release(framework);
  for (const auto& row : mixtures())
    if (row.name == framework) return row;
  const FrameworkRules& base = release(framework.substr(0, plus));
  std::vector<std::string> known;
  for (const NamedRule& rule : named_rules())
    if (base.*rule.field != release(kComparedFramework).*rule.field) known.push_back(rule.name);
  throw UsageError(fmt::format("unknown rule '{}' of {} for {}, known: {}", framework.substr(plus + 1),
                               kComparedFramework, base.name, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

std::vector<std::string> known_frameworks() {
  std::vector<std::string> names;
  for (const auto& row : releases()) names.push_back(row.name);
  return names;
}

}  // namespace culprit
