#include "report/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "outcome/tolerance.hpp"
#include "report/wording.hpp"

namespace culprit {
namespace {

std::string counted(std::size_t number, const std::string& noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string tensor_name(const std::string& parameter) {
  return parameter.substr(0, parameter.find('@'));
}

// "stage 0, both ranks, micro-batch 0, backward"
std::string place_of(const JobResult& job, const Place& first) {
  std::string text = fmt::format("stage {}, {}", first.stage, ranks_in_words(job, first));
  if (first.phase == "start" || first.phase == "finish") return text + ", " + first.phase;
  return text + fmt::format(", micro-batch {}, {}", first.micro_batch, first.phase);
}

std::string labels(const JobResult& job, const std::vector<std::size_t>& indices,
                   std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, indices.size()); ++i)
    text += (i == 0 ? "" : ", ") + label_of(job.matrix, job.matrix.choices[indices[i]]);
  if (indices.size() > most) text += fmt::format(" and {} more", indices.size() - most);
  return text;
}

}  // namespace

std::optional<NoiseFloor> noise_floor(const RunRecord& record) {
  NoiseFloor floor;
  for (const JobResult& job : record.jobs)
    for (const Outcome& outcome : job.outcomes) {
      if (outcome.outcome != OutcomeClass::kPass || !outcome.worst) continue;
      floor.deviation = std::max(floor.deviation, *outcome.worst);
      ++floor.num_cells;
    }
  if (floor.num_cells == 0) return std::nullopt;
  return floor;
}

std::string bounds_in_words(const RunRecord& record) {
  double bound = 0.0;  // the largest of the matrix's cells, which differ in size only slightly
  for (const JobResult& job : record.jobs)
    for (const Choice& choice : job.matrix.choices)
      bound = std::max(bound, tolerance_for(cell_of(job.matrix, choice)).grad);
  const auto floor = noise_floor(record);
  return fmt::format(
      "bound {:.1e}, {}", bound,
      floor ? fmt::format("noise floor {:.1g} (largest deviation among the {} that {})",
                          floor->deviation, counted(floor->num_cells, "cell"),
                          floor->num_cells == 1 ? "passes" : "pass")
            : "no passing cell to take a noise floor from");
}

std::string first_bad_in_words(const JobResult& job, const Choice& choice, const Outcome& outcome) {
  if (outcome.outcome == OutcomeClass::kPass) return "";
  std::string text =
      "with " + (num_on(choice) == 0 ? "no switch on" : label_of(job.matrix, choice));
  if (outcome.first) text += ", " + place_of(job, *outcome.first);
  text += ": ";
  switch (outcome.outcome) {
    case OutcomeClass::kWrongGrad:
      text +=
          fmt::format("gradient of {} is off by {:.2f} x its largest reference entry",
                      tensor_name(outcome.worst_parameter), outcome.worst.value_or(std::nan("")));
      break;
    case OutcomeClass::kMissingGrad:
      text += fmt::format("no gradient for {}", outcome.where);
      break;
    case OutcomeClass::kWrongLoss:
      text += fmt::format("loss is {:.6g}", outcome.loss.value_or(std::nan("")));
      break;
    default:
      text += outcome.kind.empty() ? std::string(row_of(outcome.outcome).name) : outcome.kind;
      if (outcome.outcome == OutcomeClass::kError) text += " is raised";
      break;
  }
  if (outcome.first && outcome.first->value) {
    const BadValue& bad = *outcome.first->value;
    text += fmt::format(
        "; first bad value: gradient of {}, entry [{}, {}] of rank {}'s slice, is {:.6g}, "
        "reference {:.6g}",
        outcome.first->tensor, bad.row, bad.col,
        outcome.first->ranks.substr(0, outcome.first->ranks.find(',')), bad.got, bad.expected);
  }
  return text;
}

std::vector<std::string> certificate_in_words(const JobResult& job, const MinimalFinding& finding) {
  const MatrixCertificate certificate = certificate_of(job.matrix, job.outcomes, finding.index);
  std::vector<std::string> lines;
  if (!certificate.smaller.empty())
    lines.push_back(
        fmt::format("with one switch less it passes: {}", labels(job, certificate.smaller, 8)));
  for (const AxisValue& value : certificate.bound)
    lines.push_back(fmt::format("{} can't be off beside the others", value.label));
  const std::size_t num_runs = certificate.fails_alike.size() +
                               certificate.fails_differently.size() + certificate.passes.size();
  std::string runs = fmt::format(
      "{} {} it: {} alike", counted(num_runs, "run"), num_runs == 1 ? "contains" : "contain",
      certificate.fails_alike.size() == 1 ? "1 fails"
                                          : fmt::format("{} fail", certificate.fails_alike.size()));
  if (!certificate.fails_differently.empty())
    runs += fmt::format(", {} differently", certificate.fails_differently.size());
  if (!certificate.passes.empty()) {
    runs += fmt::format(", {} pass", certificate.passes.size());
    if (certificate.passes.size() == 1) runs += "es";
    std::string hiding;
    for (const AxisValue& value : certificate.hiding)
      hiding += (hiding.empty() ? "" : " + ") + value.label;
    if (!hiding.empty()) runs += fmt::format(" (all with {})", hiding);
  }
  lines.push_back(runs);
  return lines;
}

std::string sizes_in_words(const Cell& cell) {
  return fmt::format("tp {} x pp {}, {}, {}, {}, {}", cell.tp, cell.pp,
                     cell.acc == 1 ? "1 micro-batch" : fmt::format("{} micro-batches", cell.acc),
                     counted(static_cast<std::size_t>(cell.blocks), "block"),
                     counted(static_cast<std::size_t>(cell.hidden), "feature"),
                     counted(static_cast<std::size_t>(cell.tokens), "token"));
}

std::string smallest_in_words(const JobResult& job, const MinimalFinding& finding) {
  const std::string print = fingerprint(job.outcomes[finding.index]);
  const bool smallest_alike = fingerprint(finding.smallest.outcome) == print;
  if (smallest_alike) return sizes_in_words(finding.smallest.cell) + ": fails the same way";
  Cell cell = cell_of(job.matrix, job.matrix.choices[finding.index]);
  const std::string tried = fmt::format("; {}: {}", sizes_in_words(finding.smallest.cell),
                                        outcome_in_words(finding.smallest.outcome));
  if (fingerprint(finding.one_micro_batch) == print) cell.acc = 1;
  return sizes_in_words(cell) + ": fails the same way" + tried;
}

std::string collective_in_words(const CollectiveDifference& difference) {
  return fmt::format("stage {}, rank {}: {}", difference.stage, difference.tp_rank,
                     difference.in_words);
}

}  // namespace culprit
