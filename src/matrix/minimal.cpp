#include "matrix/minimal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace culprit {
namespace {

bool passes(const Outcome& outcome) { return outcome.outcome == OutcomeClass::kPass; }

// The choice that turns on just these settings; empty when the matrix does not span them.
Choice choice_of(const Matrix& matrix, const Settings& settings) {
  Choice choice(matrix.axes.size(), 0);
  for (const auto& [name, value] : settings) {
    bool found = false;
    for (std::size_t a = 0; a < matrix.axes.size(); ++a)
      for (std::size_t i = 0; i < matrix.axes[a].on.size(); ++i) {
        // A pipeline of any depth stands for the declared one.
        const AxisValue& on = matrix.axes[a].on[i];
        if (on.field != name || (on.value != value && name != "pp")) continue;
        choice[a] = i + 1;
        found = true;
      }
    if (!found) return {};
  }
  return choice;
}

std::string in_words(OutcomeClass outcome, const std::string& kind, const std::string& phase) {
  return fmt::format("{}{}{} in {}", row_of(outcome).name, kind.empty() ? "" : ":", kind,
                     phase.empty() ? "no phase" : phase);
}

}  // namespace

std::vector<std::size_t> minimal_failures(const Matrix& matrix,
                                          const std::vector<Outcome>& outcomes) {
  const std::map<Choice, std::size_t> places = places_of(matrix);
  std::vector<std::size_t> minimal;
  for (std::size_t i = 0; i < matrix.choices.size(); ++i) {
    if (passes(outcomes[i])) continue;
    const auto smaller = one_smaller(places, matrix.choices[i]);
    if (std::all_of(smaller.begin(), smaller.end(),
                    [&](std::size_t s) { return passes(outcomes[s]); }))
      minimal.push_back(i);
  }
  std::stable_sort(minimal.begin(), minimal.end(), [&](std::size_t a, std::size_t b) {
    const auto silent = [&](std::size_t i) { return row_of(outcomes[i].outcome).silent; };
    if (silent(a) != silent(b)) return silent(a);
    return num_on(matrix.choices[a]) < num_on(matrix.choices[b]);
  });
  return minimal;
}

std::optional<std::size_t> nearest_passing(const Matrix& matrix,
                                           const std::vector<Outcome>& outcomes,
                                           std::size_t failing) {
  const auto stages = [&](std::size_t i) { return cell_of(matrix, matrix.choices[i]).pp; };
  std::optional<std::size_t> nearest;
  for (const std::size_t smaller : one_smaller(places_of(matrix), matrix.choices[failing])) {
    if (!passes(outcomes[smaller])) continue;
    if (stages(smaller) == stages(failing)) return smaller;
    if (!nearest) nearest = smaller;
  }
  return nearest;
}

std::vector<std::string> differences_from_declared(const Scenario& scenario, const Matrix& matrix,
                                                   const std::vector<Outcome>& outcomes,
                                                   const std::vector<std::size_t>& minimal) {
  std::vector<std::string> differences;
  std::vector<Choice> declared_choices;
  const auto is_minimal = [&](const Choice& choice) {
    return std::find_if(minimal.begin(), minimal.end(),
                        [&](std::size_t i) { return matrix.choices[i] == choice; });
  };
  for (const DeclaredFailure& declared : scenario.minimal) {
    const Choice choice = choice_of(matrix, declared.switches);
    if (choice.empty() || !why_impossible(cell_of(matrix, choice)).empty()) continue;
    declared_choices.push_back(choice);
    const std::string label = label_of(matrix, choice);
    const auto found = is_minimal(choice);
    if (found == minimal.end()) {
      differences.push_back(
          fmt::format("{} was declared a minimal failing combination and is not one", label));
      continue;
    }
    const Outcome& outcome = outcomes[*found];
    const std::string phase = outcome.first ? outcome.first->phase : "";
    if (outcome.outcome != declared.outcome || outcome.kind != declared.kind ||
        phase != declared.phase)
      differences.push_back(fmt::format("{}: declared {}, got {}", label,
                                        in_words(declared.outcome, declared.kind, declared.phase),
                                        in_words(outcome.outcome, outcome.kind, phase)));
  }
  for (const std::size_t i : minimal)
    if (std::find(declared_choices.begin(), declared_choices.end(), matrix.choices[i]) ==
        declared_choices.end())
      differences.push_back(
          fmt::format("{} fails and was not declared", label_of(matrix, matrix.choices[i])));
  return differences;
}

}  // namespace culprit
