#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "outcome/judge.hpp"
#include "outcome/tolerance.hpp"

namespace culprit {
namespace {

std::string phase_text(Phase phase) {
  const bool in_micro_batch =
      phase.pass == Phase::Pass::kForward || phase.pass == Phase::Pass::kBackward;
  return in_micro_batch ? fmt::format("{} {}", pass_name(phase.pass), phase.micro_batch)
                        : pass_name(phase.pass);
}

bool own_failure(const RankResult& rank) {
  return rank.error && rank.error->error_class != RankError::Class::kPeerLost;
}

// The outcome when at least one rank raised: that of the first rank (stage, then tensor rank) with
// an error of its own.
Outcome judge_errors(const std::vector<RankResult>& results) {
  auto first = std::find_if(results.begin(), results.end(), own_failure);
  if (first == results.end())
    first = std::find_if(results.begin(), results.end(),
                         [](const RankResult& r) { return r.error.has_value(); });
  const RankError& error = *first->error;

  Outcome outcome;
  outcome.outcome = OutcomeClass::kError;
  if (error.error_class == RankError::Class::kCrash) outcome.outcome = OutcomeClass::kCrash;
  if (error.error_class == RankError::Class::kHang) outcome.outcome = OutcomeClass::kHang;
  outcome.kind = error.kind;
  outcome.message = error.message;
  Place place{.stage = first->stage,
              .ranks = "",
              .micro_batch = error.phase.micro_batch,
              .phase = error.in_recompute ? "recompute" : pass_name(error.phase.pass),
              .tensor = ""};
  for (const RankResult& rank : results) {
    if (!own_failure(rank)) continue;
    outcome.where += fmt::format("{}stage{}.tp{}:{}", outcome.where.empty() ? "" : ";", rank.stage,
                                 rank.tp_rank, phase_text(rank.error->phase));
    if (rank.stage == first->stage)
      place.ranks += fmt::format("{}{}", place.ranks.empty() ? "" : ",", rank.tp_rank);
  }
  outcome.first = place;
  return outcome;
}

// Whether `off` is the larger deviation; a NaN is larger than any number, and the first one stays.
bool larger(double off, double worst) {
  return off > worst || (std::isnan(off) && !std::isnan(worst));
}

double deviation(const std::vector<float>& grad, const std::vector<double>& expected) {
  double worst = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double off = std::abs(static_cast<double>(grad[i]) - expected[i]);
    if (larger(off, worst)) worst = off;
    largest = std::max(largest, std::abs(expected[i]));
  }
  return worst / std::max(largest, 1e-12);
}

// The worst entry of a gradient; `columns` of the shard.
BadValue worst_entry(const std::vector<float>& grad, const std::vector<double>& expected,
                     std::int64_t columns) {
  BadValue bad;
  double worst = -1.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double off = std::abs(static_cast<double>(grad[i]) - expected[i]);
    if (!larger(off, worst)) continue;
    worst = off;
    bad.row = static_cast<std::int64_t>(i) / columns;
    bad.col = static_cast<std::int64_t>(i) % columns;
    bad.got = static_cast<double>(grad[i]);
    bad.expected = expected[i];
  }
  bad.deviation = deviation(grad, expected);
  return bad;
}

std::vector<double> expected_shard(const Cell& cell, const RankResult& rank,
                                   const ParameterSpec& spec, const std::vector<double>& whole) {
  return shard_of(whole, spec.shape, spec.split, rank.tp_rank, cell.tp);
}

// Whether a deviation is over the bound; a NaN is.
bool over(double value, double bound) { return !(value <= bound); }

}  // namespace

Outcome judge(const Cell& cell, const std::vector<RankResult>& results,
              const Reference& reference) {
  Outcome outcome;
  const bool raised = std::any_of(results.begin(), results.end(),
                                  [](const RankResult& r) { return r.error.has_value(); });
  if (raised) outcome = judge_errors(results);
  for (const RankResult& rank : results) {
    outcome.copied_bytes += rank.memory.copied_bytes;
    outcome.peak_bytes += rank.memory.peak_bytes;
    outcome.collectives += rank.comm.collectives;
    outcome.collective_bytes += rank.comm.collective_bytes;
  }
  if (raised) return outcome;

  const Tolerance tolerance = tolerance_for(cell);
  std::string missing;
  double worst = 0.0, loss = 0.0;
  bool wrong_loss = false;
  int freed = 0;
  for (const RankResult& rank : results) {
    if (rank.stage == cell.pp - 1) {
      // Every tensor rank of the last stage has the loss; the first one's is reported.
      if (rank.tp_rank == 0) loss = rank.loss;
      wrong_loss |= over(std::abs(rank.loss - reference.loss),
                         tolerance.loss * std::max(1.0, std::abs(reference.loss)));
    }
    freed += rank.released_outputs;
    for (const ParameterGrad& parameter : rank.grads) {
      const ParameterSpec& spec = parameter.spec;
      if (!parameter.grad) {
        if (spec.trainable)
          missing += fmt::format("{}{}@stage{}.tp{}", missing.empty() ? "" : " ", spec.name,
                                 rank.stage, rank.tp_rank);
        continue;
      }
      const double off = deviation(
          *parameter.grad, expected_shard(cell, rank, spec, reference.grads.at(spec.name).back()));
      if (larger(off, worst)) {
        worst = off;
        outcome.worst_parameter =
            fmt::format("{}@stage{}.tp{}", spec.name, rank.stage, rank.tp_rank);
      }
      double sum = 0.0;
      for (const float g : *parameter.grad) sum += std::abs(static_cast<double>(g));
      outcome.checksums.emplace_back(fmt::format("{}@{}.{}", spec.name, rank.stage, rank.tp_rank),
                                     sum);
    }
  }
  outcome.loss = loss;
  outcome.worst = worst;
  outcome.freed = freed;
  if (wrong_loss)
    outcome.outcome = OutcomeClass::kWrongLoss;
  else if (!missing.empty())
    outcome.outcome = OutcomeClass::kMissingGrad;
  else if (over(worst, tolerance.grad))
    outcome.outcome = OutcomeClass::kWrongGrad;
  if (!missing.empty())
    outcome.where = missing;
  else if (over(worst, tolerance.grad))
    outcome.where = outcome.worst_parameter;
  return outcome;
}

std::optional<Place> locate_first(const Cell& cell, const std::vector<RankResult>& results,
                                  const Reference& reference) {
  const Tolerance tolerance = tolerance_for(cell);
  for (int m = 0; m < cell.acc; ++m) {
    for (const std::string& name : reference.backward_order) {
      Place place;
      for (const RankResult& rank : results) {
        for (const ParameterGrad& parameter : rank.grads) {
          if (parameter.spec.name != name || !parameter.spec.trainable) continue;
          const auto& grad = parameter.after_micro_batch.at(static_cast<std::size_t>(m));
          const auto expected = expected_shard(
              cell, rank, parameter.spec, reference.grads.at(name).at(static_cast<std::size_t>(m)));
          if (grad && !over(deviation(*grad, expected), tolerance.grad)) continue;
          if (grad && place.ranks.empty())
            place.value =
                worst_entry(*grad, expected,
                            shard_shape(parameter.spec.shape, parameter.spec.split, cell.tp).cols);
          place.ranks += fmt::format("{}{}", place.ranks.empty() ? "" : ",", rank.tp_rank);
          place.stage = rank.stage;
        }
      }
      if (place.ranks.empty()) continue;
      place.micro_batch = m;
      place.phase = pass_name(Phase::Pass::kBackward);
      place.tensor = name;
      return place;
    }
  }
  return std::nullopt;
}

std::string fingerprint(const Outcome& outcome) {
  if (outcome.outcome == OutcomeClass::kPass) return "";
  std::string text{row_of(outcome.outcome).name};
  if (!outcome.kind.empty()) text += ":" + outcome.kind;
  if (outcome.first) text += "@" + outcome.first->phase;
  return text;
}

std::string checksum_text(const Outcome& outcome) {
  std::string text;
  for (const auto& [name, sum] : outcome.checksums)
    text += fmt::format("{}{}={:.6g}", text.empty() ? "" : " ", name, sum);
  return text;
}

}  // namespace culprit
