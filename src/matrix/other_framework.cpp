#include "matrix/other_framework.hpp"

#include <fmt/format.h>

#include "autograd/rules.hpp"

namespace culprit {
namespace {

// Runs the cells at `places`, each changed by `change`, in one batch; `take` gets each outcome.
template <class Change, class Take>
void run_changed(const std::vector<Cell>& cells, const std::vector<std::size_t>& places,
                 TrialRunner& runner, Change change, Take take) {
  std::vector<Cell> changed;
  for (const std::size_t place : places) {
    changed.push_back(cells[place]);
    change(changed.back());
  }
  const std::vector<Outcome> outcomes = runner.run(changed);
  for (std::size_t i = 0; i < places.size(); ++i) take(places[i], outcomes[i]);
}

}  // namespace

std::vector<std::optional<OtherFramework>> try_other_framework(const std::vector<Cell>& cells,
                                                               TrialRunner& runner) {
  std::vector<std::optional<OtherFramework>> results(cells.size());
  std::vector<std::size_t> comparable, passing;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (!cells[i].framework.starts_with(kComparedFramework)) comparable.push_back(i);
  run_changed(
      cells, comparable, runner, [](Cell& cell) { cell.framework = kComparedFramework; },
      [&](std::size_t place, const Outcome& outcome) {
        results[place] = OtherFramework{.outcome = outcome, .num_tried = 0, .rules = {}};
        if (outcome.outcome == OutcomeClass::kPass) passing.push_back(place);
      });
  const FrameworkRules& other = rules_of(kComparedFramework);
  for (std::size_t r = 0; r < named_rules().size(); ++r) {
    const NamedRule& rule = named_rules()[r];
    std::vector<std::size_t> places;
    for (const std::size_t place : passing) {
      const FrameworkRules& own = rules_of(cells[place].framework);
      if (own.*rule.field != other.*rule.field && own.name.find('+') == std::string::npos) places.push_back(place);
    }
    run_changed(
        cells, places, runner,
        [&](Cell& cell) { cell.framework = fmt::format("{}+{}", cell.framework, rule.name); },
        [&](std::size_t place, const Outcome& outcome) {
          ++results[place]->num_tried;
          if (outcome.outcome == OutcomeClass::kPass) results[place]->rules.push_back(r);
        });
  }
  return results;
}

}  // namespace culprit
