// Which candidate fix resolves which failure: every fix alone, pairs only where no fix suffices
// alone, at every minimal failing cell and at passing cells.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "isolate/space.hpp"

namespace culprit {

// What a cell came to under some fixes. `silent`: the failure raises nothing (a wrong number, not
// an error); only for kFail. `applicable` false: the fix does not concern this cell, nothing was
// run.
struct FixObservation {
  Trial trial;
  bool silent = false;
  bool applicable = true;
};

struct FixRequest {
  Assignment cell;
  std::vector<std::size_t> fixes;  // empty: the cell without a fix; else one or two, rising
};

// As Evaluate: results in the batch's order, the same request again means another run, fewer
// results than asked stop the attribution.
using EvaluateFixes = std::function<std::vector<FixObservation>(std::span<const FixRequest>)>;

// Effect of one fix or pair on one cell.
enum class ObservedEffect {
  kResolves,      // a failing cell passes
  kStaysPassing,  // a passing cell still passes
  kSameFailure,
  kFailsDifferently,
  kTurnsSilent,  // the cell raised an error and now fails without one: worse than before
  kBreaks,       // a passing cell fails
  kNotApplicable,
  kUnresolved,
};

// Verdict on one fix or pair, the first that applies.
enum class FixVerdict {
  kBreaksSomething,
  kTurnsErrorSilent,
  kResolves,  // every failing cell that it applies to
  kResolvesSome,
  kFailsDifferently,  // resolves none and changes how at least one fails
  kNoEffect,
  kNotApplicable,  // to none of the failing cells
  kUnresolved,     // nothing could be judged
};

struct FixCellEffect {
  std::size_t cell = 0;  // failing cells first, then passing cells
  ObservedEffect effect = ObservedEffect::kUnresolved;
  FixObservation seen;  // the worst of the repeats
};

struct FixAttribution {
  std::vector<std::size_t> fixes;  // one or two
  FixVerdict verdict = FixVerdict::kUnresolved;
  std::vector<FixCellEffect> effects;  // may lack cells when stopped
};

struct FixOptions {
  // Runs of each cell; a single failing one counts. Above 1 for flaky failures.
  std::size_t repeats = 1;
  std::size_t batch_size = 1;
};

struct FixResult {
  std::vector<FixAttribution> alone;  // one for each fix
  std::vector<FixAttribution> pairs;  // those that resolve a cell which no fix resolves alone
  std::vector<std::size_t> unresolved_cells;  // failing cells that no fix or pair tried resolves
  std::size_t trials = 0;
  bool complete = true;
};

// Each cell is run without a fix first. A failing cell counts as resolved by a fix only where that
// fix breaks no passing cell. Pairs are tried at the failing cells that remain, all of them, and
// those that resolve one there are then run at all other cells. (fixes + 1 + pairs tried) * cells *
// repeats trials. Throws UsageError for no fixes, no failing cells, or zero repeats or batch size,
// and when a cell does not fail, or not pass, without a fix as its list says.
FixResult attribute_fixes(std::size_t num_fixes, const std::vector<Assignment>& failing_cells,
                          const std::vector<Assignment>& passing_cells, const FixOptions& options,
                          const EvaluateFixes& evaluate);

// Wording of reports: "resolves some", "turns an error silent", ...
const char* to_string(FixVerdict verdict);

}  // namespace culprit
