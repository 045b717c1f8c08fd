#include "matrix/axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "autograd/rules.hpp"
#include "base/error.hpp"

namespace culprit {
namespace {

// What people call the switches.
std::string label_for(const std::string& name, const std::string& value, const Cell& pinned) {
  if (name == "identity" && value == "skip") return "skip_c_identity";
  // Where no input is taken for in-place without a mark there is no such mark (rule 21).
  if (name == "identity" && value == "mark_not_inplace" && !rules_of(pinned.framework).returned_input_is_inplace)
    return "identity returned unmarked";
  if (name == "identity") return "identity " + value;
  if (name == "recompute")
    return value == "nonreentrant" ? "recompute (non-reentrant)" : "recompute (reentrant)";
  if (name == "pp") return "pp-merge";
  if (name == "first_op") return "operator before";
  if (name == "residual") return "residual";
  if (name == "fan_out") return value + " linears on one input";
  if (name == "path") return "overlap path";
  if (name == "embed") return "no embedding";
  if (name == "release") return "release";
  return name + "=" + value;
}

Axis axis_for(const std::string& name, const Scenario& scenario, const Cell& pinned) {
  static const Cell defaults;
  Axis axis;
  axis.field = &field_of(scenario, name);
  axis.off = name == "pp" ? "1" : axis.field->get(defaults);
  for (const std::string& value : on_values(scenario, name, pinned))
    axis.on.push_back({label_for(name, value, pinned), name, value});
  return axis;
}

// A switch of the matrix takes its off- and on-values whatever was asked for; another value can't
// be in it.
void refuse_foreign_value(const Axis& axis, const Scenario& scenario, const Cell& pinned) {
  const std::string asked = axis.field->get(pinned);
  std::vector<std::string> spanned{axis.off};
  for (const AxisValue& on : axis.on) spanned.push_back(on.value);
  if (std::find(spanned.begin(), spanned.end(), asked) != spanned.end()) return;
  throw UsageError(fmt::format(
      "{}={}: the matrix of {} always has {} as {}; run the one cell with the program {} {}={}",
      axis.field->flag(), asked, scenario.name, axis.field->name, fmt::join(spanned, " and "),
      scenario.name, axis.field->flag(), asked));
}

}  // namespace

std::vector<std::string> on_values(const Scenario& scenario, const std::string& name,
                                   const Cell& pinned) {
  static const Cell defaults;
  const std::string off = name == "pp" ? "1" : field_of(scenario, name).get(defaults);
  std::vector<std::string> values;
  const auto want = [&](const std::string& value) {
    if (value != off && std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  };
  if (name == "pp") {
    want(field("pp").get(pinned));
  } else if (name == "recompute") {
    want("reentrant");
    want("nonreentrant");
  } else {
    for (const auto& [which, value] : scenario.claim)
      if (which == name) want(value);
    for (const DeclaredFailure& declared : scenario.minimal)
      for (const auto& [which, value] : declared.switches)
        if (which == name) want(value);
    if (name == "first_op") want("scale");
    if (name == "residual") want("1");
  }
  return values;
}

Cell cell_of(const Matrix& matrix, const Choice& choice) {
  Cell cell = matrix.base;
  for (std::size_t a = 0; a < matrix.axes.size(); ++a) {
    const Axis& axis = matrix.axes[a];
    axis.field->set(cell, choice[a] == 0 ? axis.off : axis.on[choice[a] - 1].value);
  }
  // A pinned release goes off with the pipeline: a single stage sends nothing that it could
  // release. Where release is a switch of its own, that combination does not exist instead.
  const bool release_is_switch =
      std::any_of(matrix.axes.begin(), matrix.axes.end(),
                  [](const Axis& axis) { return axis.field->name == "release"; });
  if (cell.pp == 1 && !release_is_switch) cell.release = false;
  return cell;
}

std::size_t num_on(const Choice& choice) {
  return static_cast<std::size_t>(
      std::count_if(choice.begin(), choice.end(), [](auto c) { return c != 0; }));
}

std::string label_of(const Matrix& matrix, const Choice& choice) {
  std::string text;
  for (std::size_t a = 0; a < choice.size(); ++a)
    if (choice[a] != 0)
      text += (text.empty() ? "" : " + ") + matrix.axes[a].on[choice[a] - 1].label;
  return text.empty() ? "base" : text;
}

std::map<Choice, std::size_t> places_of(const Matrix& matrix) {
  std::map<Choice, std::size_t> places;
  for (std::size_t i = 0; i < matrix.choices.size(); ++i) places[matrix.choices[i]] = i;
  return places;
}

std::vector<std::size_t> one_smaller(const std::map<Choice, std::size_t>& places,
                                     const Choice& choice) {
  std::vector<std::size_t> smaller;
  for (std::size_t a = 0; a < choice.size(); ++a) {
    if (choice[a] == 0) continue;
    Choice without = choice;
    without[a] = 0;
    if (const auto place = places.find(without); place != places.end())
      smaller.push_back(place->second);
  }
  return smaller;
}

Settings settings_of(const Matrix& matrix, const Choice& choice) {
  Settings settings;
  for (std::size_t a = 0; a < choice.size(); ++a)
    if (choice[a] != 0) {
      const AxisValue& on = matrix.axes[a].on[choice[a] - 1];
      settings.emplace_back(on.field, on.value);
    }
  return settings;
}

Matrix make_matrix(const Scenario& scenario, const Cell& pinned, bool with_recompute) {
  Matrix matrix;
  matrix.base = pinned;
  for (const std::string& name : scenario.toggles) {
    if (name == "pp" && pinned.pp == 1) {
      matrix.left_out.push_back("pp-merge: one stage was asked for (--pp)");
      continue;
    }
    if (name == "recompute" && !with_recompute) {
      matrix.left_out.push_back("recompute: not asked for (--recompute)");
      continue;
    }
    Axis axis = axis_for(name, scenario, pinned);
    if (axis.on.empty()) continue;
    refuse_foreign_value(axis, scenario, pinned);
    axis.field->set(matrix.base, axis.off);
    matrix.axes.push_back(std::move(axis));
  }
  // Every choice, counted like an odometer, then ordered by the number of switches on.
  Choice choice(matrix.axes.size(), 0);
  for (bool more = true; more;) {
    if (const Cell cell = cell_of(matrix, choice); why_impossible(cell).empty()) {
      if (const std::string reason = why_not_modelled(scenario, cell); reason.empty())
        matrix.choices.push_back(choice);
      else
        matrix.left_out.push_back(label_of(matrix, choice) + ": " + reason);
    }
    more = false;
    for (std::size_t a = choice.size(); a-- > 0;) {
      if (++choice[a] <= matrix.axes[a].on.size()) {
        more = true;
        break;
      }
      choice[a] = 0;
    }
  }
  for (std::size_t a = 0; a < matrix.axes.size(); ++a)
    for (std::size_t i = 0; i < matrix.axes[a].on.size(); ++i) {
      if (std::any_of(matrix.choices.begin(), matrix.choices.end(),
                      [&](const Choice& c) { return c[a] == i + 1; }))
        continue;
      Choice alone(matrix.axes.size(), 0);
      alone[a] = i + 1;
      if (const std::string reason = why_impossible(cell_of(matrix, alone)); !reason.empty())
        matrix.left_out.push_back(matrix.axes[a].on[i].label + ": " + reason);
    }
  std::stable_sort(matrix.choices.begin(), matrix.choices.end(),
                   [](const Choice& a, const Choice& b) { return num_on(a) < num_on(b); });
  return matrix;
}

}  // namespace culprit
