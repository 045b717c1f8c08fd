#include "app/launch_target.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "config/cell.hpp"

namespace culprit {
namespace {

// A switch of launch scripts and the field that models it.
struct ScriptSwitch {
  const char* setting;  // as emit_reduced_script names it
  const char* field;
  std::vector<std::string> on;  // the field's values that mean on, the usual one first
  std::optional<bool> launch::LaunchMapping::*is_on;
};

const std::vector<ScriptSwitch>& script_switches() {
  using launch::LaunchMapping;
  static const std::vector<ScriptSwitch> rows{
      {"skip-c-identity", "identity", {"skip"}, &LaunchMapping::skip_c_identity},
      {"recompute", "recompute", {"reentrant", "nonreentrant"}, &LaunchMapping::recompute},
      {"async-all-reduce", "path", {"overlap"}, &LaunchMapping::async_all_reduce},
      {"delay-scale-loss", "loss_division", {"delayed"}, &LaunchMapping::delay_scale_loss},
      {"release-outputs", "release", {"1"}, &LaunchMapping::release_outputs},
  };
  return rows;
}

}  // namespace

void add_launch(const launch::LaunchMapping& mapping, ScenarioRequest& request) {
  const int tp = mapping.tp.value_or(1);
  const int pp = mapping.pp.value_or(1);
  Settings settings{{"tp", std::to_string(tp)},
                    {"pp", std::to_string(pp)},
                    {"acc", std::to_string(mapping.acc.value_or(1))},
                    {"hidden", std::to_string(std::lcm(Cell{}.hidden, tp))}};
  if (mapping.loss_scale) settings.emplace_back("loss_scale", std::to_string(*mapping.loss_scale));
  for (const ScriptSwitch& row : script_switches()) {
    if (!(mapping.*row.is_on).value_or(false)) continue;
    const std::string field_name = row.field;
    if (field_name == "path" && tp == 1) continue;
    if (field_name == "release" && pp == 1) continue;
    std::string value = row.on.front();
    if (field_name == "recompute" && mapping.recompute_kind == launch::RecomputeKind::kNonReentrant)
      value = "nonreentrant";
    if (field_name == "identity" || field_name == "recompute")
      settings.emplace_back(field_name, value);
    else
      request.vary.push_back(field_name + "=" + value + "|" + field(field_name).get(Cell{}));
  }
  // What the user's own flags say comes later and wins.
  request.given.insert(request.given.begin(), settings.begin(), settings.end());
}

std::optional<std::vector<launch::LaunchEdit>> edits_for(const launch::LaunchMapping& mapping,
                                                         const Space& space,
                                                         const SettingSet& settings) {
  std::vector<launch::LaunchEdit> edits;
  for (const ScriptSwitch& row : script_switches()) {
    const bool is_on = (mapping.*row.is_on).value_or(false);
    const bool is_needed =
        std::any_of(settings.begin(), settings.end(), [&](const Setting& setting) {
          const Switch& which = space.switches[setting.which];
          return which.name == row.field && std::find(row.on.begin(), row.on.end(),
                                                      which.values[setting.value]) != row.on.end();
        });
    if (is_needed && !is_on) return std::nullopt;
    if (is_on && !is_needed) edits.push_back({row.setting, "off"});
  }
  return edits;
}

}  // namespace culprit
