// See attribute_fixes.hpp.
#include "isolate/attribute_fixes.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace culprit {
namespace {

// Thrown where the evaluator gives no further trial.
struct AttributionStopped {};

// Of several runs of one request the one that counts: any failure over a pass (a silent one over a
// loud one, as the more dangerous), anything judged over nothing.
int badness(const FixObservation& seen) {
  if (!seen.applicable) return 0;
  switch (seen.trial.status) {
    case Trial::Status::kUnresolved:
      return 1;
    case Trial::Status::kPass:
      return 2;
    case Trial::Status::kFail:
      return seen.silent ? 4 : 3;
  }
  return 0;
}

ObservedEffect effect_on(const FixObservation& before, const FixObservation& after) {
  if (!after.applicable) return ObservedEffect::kNotApplicable;
  if (after.trial.status == Trial::Status::kUnresolved) return ObservedEffect::kUnresolved;
  const bool failed = before.trial.status == Trial::Status::kFail;
  if (after.trial.status == Trial::Status::kPass) {
    return failed ? ObservedEffect::kResolves : ObservedEffect::kStaysPassing;
  }
  if (!failed) return ObservedEffect::kBreaks;
  if (after.silent && !before.silent) return ObservedEffect::kTurnsSilent;
  return after.trial.fingerprint == before.trial.fingerprint ? ObservedEffect::kSameFailure
                                                             : ObservedEffect::kFailsDifferently;
}

FixVerdict verdict_on(const std::vector<FixCellEffect>& effects, std::size_t num_failing) {
  const auto count = [&](ObservedEffect effect) {
    return static_cast<std::size_t>(
        std::count_if(effects.begin(), effects.end(),
                      [&](const FixCellEffect& one) { return one.effect == effect; }));
  };
  const std::size_t not_applicable = static_cast<std::size_t>(
      std::count_if(effects.begin(), effects.end(), [&](const FixCellEffect& one) {
        return one.cell < num_failing && one.effect == ObservedEffect::kNotApplicable;
      }));
  if (count(ObservedEffect::kBreaks) > 0) return FixVerdict::kBreaksSomething;
  if (count(ObservedEffect::kTurnsSilent) > 0) return FixVerdict::kTurnsErrorSilent;
  if (not_applicable == num_failing) return FixVerdict::kNotApplicable;
  const std::size_t resolved = count(ObservedEffect::kResolves);
  if (resolved > 0) {
    return resolved + not_applicable == num_failing ? FixVerdict::kResolves
                                                    : FixVerdict::kResolvesSome;
  }
  if (count(ObservedEffect::kFailsDifferently) > 0) return FixVerdict::kFailsDifferently;
  if (count(ObservedEffect::kSameFailure) > 0) return FixVerdict::kNoEffect;
  return FixVerdict::kUnresolved;
}

class Attribution {
 public:
  Attribution(std::size_t num_failing, std::vector<Assignment> cells, const FixOptions& options,
              const EvaluateFixes& evaluate)
      : num_failing_(num_failing),
        cells_(std::move(cells)),
        options_(options),
        evaluate_(evaluate) {}

  FixResult run(std::size_t num_fixes) {
    try {
      run_baseline();
      run_alone(num_fixes);
      run_pairs(num_fixes);
    } catch (const AttributionStopped&) {
      result_.complete = false;
    }
    find_unresolved();
    return std::move(result_);
  }

 private:
  std::vector<FixObservation> evaluate(const std::vector<FixRequest>& requests) {
    std::vector<FixRequest> repeated;
    for (const FixRequest& request : requests) {
      repeated.insert(repeated.end(), options_.repeats, request);
    }
    std::vector<FixObservation> worst(requests.size());
    for (FixObservation& one : worst) one.applicable = false;
    for (std::size_t start = 0; start < repeated.size(); start += options_.batch_size) {
      const std::size_t count = std::min(options_.batch_size, repeated.size() - start);
      const std::vector<FixObservation> trials = evaluate_(std::span(repeated).subspan(start, count));
      result_.trials += trials.size();
      if (trials.size() < count) throw AttributionStopped{};
      for (std::size_t i = 0; i < count; ++i) {
        FixObservation& kept = worst[(start + i) / options_.repeats];
        if (badness(trials[i]) > badness(kept)) kept = trials[i];
      }
    }
    return worst;
  }

  void run_baseline() {
    std::vector<FixRequest> requests;
    for (const Assignment& cell : cells_) requests.push_back({cell, {}});
    before_ = evaluate(requests);
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      const bool should_fail = cell < num_failing_;
      const Trial::Status expected = should_fail ? Trial::Status::kFail : Trial::Status::kPass;
      if (before_[cell].trial.status == expected && before_[cell].applicable) continue;
      throw UsageError(std::string("without a fix, ") + (should_fail ? "failing" : "passing") +
                       " cell " + std::to_string(should_fail ? cell : cell - num_failing_) +
                       " does not " + (should_fail ? "fail" : "pass") + ", expected that");
    }
  }

  // Adds the effects on the cells that the attribution lacks.
  void extend(FixAttribution& attribution, const std::vector<std::size_t>& cells) {
    std::vector<FixRequest> requests;
    for (const std::size_t cell : cells) requests.push_back({cells_[cell], attribution.fixes});
    const std::vector<FixObservation> after = evaluate(requests);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      attribution.effects.push_back({cells[i], effect_on(before_[cells[i]], after[i]), after[i]});
    }
    std::sort(attribution.effects.begin(), attribution.effects.end(),
              [](const auto& left, const auto& right) { return left.cell < right.cell; });
    attribution.verdict = verdict_on(attribution.effects, num_failing_);
  }

  static bool resolves(const FixAttribution& attribution, std::size_t cell) {
    return std::any_of(attribution.effects.begin(), attribution.effects.end(),
                       [&](const FixCellEffect& one) {
                         return one.cell == cell && one.effect == ObservedEffect::kResolves;
                       });
  }
  // Resolves the cell and does no harm elsewhere.
  static bool suffices(const FixAttribution& attribution, std::size_t cell) {
    return attribution.verdict != FixVerdict::kBreaksSomething && resolves(attribution, cell);
  }

  std::vector<std::size_t> failing_without(const std::vector<FixAttribution>& tried) const {
    std::vector<std::size_t> cells;
    for (std::size_t cell = 0; cell < num_failing_; ++cell) {
      const bool suffices_alone =
          std::any_of(tried.begin(), tried.end(),
                      [&](const FixAttribution& one) { return suffices(one, cell); });
      if (!suffices_alone) cells.push_back(cell);
    }
    return cells;
  }

  void run_alone(std::size_t num_fixes) {
    std::vector<std::size_t> all(cells_.size());
    for (std::size_t cell = 0; cell < all.size(); ++cell) all[cell] = cell;
    for (std::size_t fix = 0; fix < num_fixes; ++fix) {
      FixAttribution attribution;
      attribution.fixes = {fix};
      extend(attribution, all);
      result_.alone.push_back(std::move(attribution));
    }
  }

  void run_pairs(std::size_t num_fixes) {
    const std::vector<std::size_t> open = failing_without(result_.alone);
    if (open.empty()) return;
    std::vector<std::size_t> others;
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      if (!std::binary_search(open.begin(), open.end(), cell)) others.push_back(cell);
    }
    for (std::size_t first = 0; first < num_fixes; ++first) {
      for (std::size_t second = first + 1; second < num_fixes; ++second) {
        FixAttribution attribution;
        attribution.fixes = {first, second};
        extend(attribution, open);
        const bool helps = std::any_of(open.begin(), open.end(), [&](std::size_t cell) {
          return resolves(attribution, cell);
        });
        if (!helps) continue;
        extend(attribution, others);
        result_.pairs.push_back(std::move(attribution));
      }
    }
  }

  void find_unresolved() {
    std::vector<FixAttribution> tried = result_.alone;
    tried.insert(tried.end(), result_.pairs.begin(), result_.pairs.end());
    result_.unresolved_cells = failing_without(tried);
  }

  std::size_t num_failing_;
  std::vector<Assignment> cells_;
  const FixOptions& options_;
  const EvaluateFixes& evaluate_;
  std::vector<FixObservation> before_;
  FixResult result_;
};

}  // namespace

FixResult attribute_fixes(std::size_t num_fixes, const std::vector<Assignment>& failing_cells,
                          const std::vector<Assignment>& passing_cells, const FixOptions& options,
                          const EvaluateFixes& evaluate) {
  if (num_fixes == 0) throw UsageError("no fixes to attribute");
  if (failing_cells.empty()) throw UsageError("no failing cells to try fixes at");
  if (options.repeats == 0 || options.batch_size == 0) {
    throw UsageError("repeats and batch_size of fix attribution must be at least 1");
  }
  std::vector<Assignment> cells = failing_cells;
  cells.insert(cells.end(), passing_cells.begin(), passing_cells.end());
  return Attribution(failing_cells.size(), std::move(cells), options, evaluate).run(num_fixes);
}

const char* to_string(FixVerdict verdict) {
  switch (verdict) {
    case FixVerdict::kBreaksSomething:
      return "breaks something";
    case FixVerdict::kTurnsErrorSilent:
      return "turns an error silent";
    case FixVerdict::kResolves:
      return "resolves";
    case FixVerdict::kResolvesSome:
      return "resolves some";
    case FixVerdict::kFailsDifferently:
      return "fails differently";
    case FixVerdict::kNoEffect:
      return "no effect";
    case FixVerdict::kNotApplicable:
      return "not applicable";
    case FixVerdict::kUnresolved:
      return "unresolved";
  }
  return "unknown";
}

}  // namespace culprit
