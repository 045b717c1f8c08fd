#include "outcome/run_once.hpp"

#include "base/bytes.hpp"
#include "comm/process_group.hpp"
#include "outcome/judge.hpp"

namespace culprit {
namespace {

// Rank 0's class and kind, on every process.
Outcome told_by_rank_0(ProcessGroup& processes, Outcome outcome) {
  ByteWriter writer;
  writer.put(outcome.outcome);
  writer.put_text(outcome.kind);
  const std::string bytes = processes.broadcast(writer.take());
  ByteReader reader(bytes);
  outcome.outcome = reader.get<OutcomeClass>();
  outcome.kind = reader.get_text();
  return outcome;
}

bool has_bad_gradient(const Outcome& outcome) {
  return outcome.outcome == OutcomeClass::kWrongGrad ||
         outcome.outcome == OutcomeClass::kMissingGrad;
}

}  // namespace

Outcome run_once(const Model& model, const Cell& cell, CellRunOptions options) {
  ProcessGroup* const processes = options.runtime->processes();
  if (processes)
    options.on_operation = [processes, before = std::move(options.on_operation)] {
      processes->tick();
      if (before) before();
    };
  options.keep_micro_batch_grads = false;
  if (processes && processes->rank() != 0) {
    run_cell(model, cell, options);
    const Outcome outcome = told_by_rank_0(*processes, {});
    options.keep_micro_batch_grads = true;
    if (has_bad_gradient(outcome)) run_cell(model, cell, options);
    return outcome;
  }
  const Reference reference = make_reference(model, cell, /*keep_all=*/true, options.on_operation);
  Outcome outcome = judge(cell, run_cell(model, cell, options), reference);
  if (processes) told_by_rank_0(*processes, outcome);
  if (has_bad_gradient(outcome)) {
    options.keep_micro_batch_grads = true;
    outcome.first = locate_first(cell, run_cell(model, cell, options), reference);
  }
  return outcome;
}

}  // namespace culprit
