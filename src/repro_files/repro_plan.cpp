#include "repro_files/repro_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/rules.hpp"
#include "base/error.hpp"
#include "base/subject_error.hpp"

namespace culprit {
namespace {

bool calls(const ModelProgram& program, ModelOperator op) {
  const auto any = [op](const std::vector<Routine>& routines) {
    return std::any_of(routines.begin(), routines.end(), [op](const Routine& routine) {
      return std::any_of(routine.calls.begin(), routine.calls.end(),
                         [op](const OperatorCall& call) { return call.op == op; });
    });
  };
  return any(program.stages) || any(program.blocks);
}

bool captures(const ModelProgram& program) {
  return std::any_of(program.blocks.begin(), program.blocks.end(), [](const Routine& block) {
    std::vector<int> own{block.inputs[0].id};
    for (const auto& call : block.calls) own.push_back(call.output.id);
    return std::any_of(block.calls.begin(), block.calls.end(), [&](const OperatorCall& call) {
      return std::any_of(call.inputs.begin(), call.inputs.end(), [&](const ProgramValue& input) {
        return input.id >= 0 && std::find(own.begin(), own.end(), input.id) == own.end();
      });
    });
  });
}

Traits traits_of(const ReproPlan& plan, const Outcome& outcome) {
  const Cell& cell = plan.cell;
  const FrameworkRules& rules = rules_of(cell.framework);
  Traits traits;
  // Layout.
  const bool tp = plan.tp > 1, pp = cell.pp > 1;
  traits.set("tp", tp);
  traits.set("pp", pp);
  traits.set("ranks", tp || pp);
  traits.set("many", cell.acc > 1);
  traits.set("wide", pp && plan.program.stages[1].inputs.size() > 1);
  traits.set("scaled_loss", cell.loss_scale != 1.0);
  traits.set("delayed", cell.loss_division == LossDivision::kDelayed && cell.acc > 1);
  // Operators.
  const bool column = calls(plan.program, ModelOperator::kColumnLinear);
  const bool overlap = tp && column && cell.path == ColumnPath::kOverlap;
  const bool frozen_column = calls(plan.program, ModelOperator::kFrozenColumnLinear);
  const bool identity = tp && ((column && !overlap) || frozen_column ||
                               calls(plan.program, ModelOperator::kIdentity));
  const bool row = tp && calls(plan.program, ModelOperator::kRowLinear);
  const bool gather = tp && calls(plan.program, ModelOperator::kGather);
  traits.set("overlap", overlap);
  traits.set("identity", identity);
  traits.set("row", row);
  traits.set("gather", gather);
  traits.set("add", calls(plan.program, ModelOperator::kAdd));
  traits.set("scale", calls(plan.program, ModelOperator::kScale));
  const auto variant = [&](IdentityVariant which) { return identity && cell.identity == which; };
  traits.set("copy", variant(IdentityVariant::kCopy));
  traits.set("skip", variant(IdentityVariant::kSkip));
  traits.set("view", variant(IdentityVariant::kView));
  traits.set("detach", variant(IdentityVariant::kDetach));
  traits.set("reshape", variant(IdentityVariant::kReshape));
  traits.set("mark", variant(IdentityVariant::kMarkNotInplace));
  traits.set("skips", cell.identity == IdentityVariant::kSkip);  // the switch, whatever reads it
  // Recomputation.
  const bool reentrant =
      cell.recompute == RecomputeKind::kReentrant && !plan.program.blocks.empty();
  const bool nonreentrant =
      cell.recompute == RecomputeKind::kNonReentrant && !plan.program.blocks.empty();
  traits.set("reentrant", reentrant);
  traits.set("nonreentrant", nonreentrant);
  traits.set("recompute", reentrant || nonreentrant);
  // Elsewhere a matmul with a weight that takes no gradient does the same.
  const bool frozen_linear = tp && frozen_column && nonreentrant;
  traits.set("frozen_linear", frozen_linear);
  traits.set("frozen_matmul", frozen_column && !frozen_linear);
  traits.set("custom", overlap || identity || row || gather || reentrant);
  // Rules that can matter here.
  const bool returns_input = variant(IdentityVariant::kSkip) || variant(IdentityVariant::kReshape);
  const bool error = outcome.outcome == OutcomeClass::kError;
  const bool leaf_rule = error && (returns_input || variant(IdentityVariant::kDetach));
  const bool versions = error && returns_input && !nonreentrant;
  traits.set("release", error && cell.release);
  traits.set("leaf_rule", leaf_rule);
  traits.set("versions", versions);
  traits.set("in_place",
             leaf_rule || versions || (traits.has("release") && (row || returns_input)));
  traits.set("stopped_rule", error && overlap);
  traits.set("freed", error && reentrant && captures(plan.program));
  traits.set("none_refused",
             error && (overlap || frozen_linear) && nonreentrant && !rules.hooks_accept_none);
  traits.set("drops", variant(IdentityVariant::kMarkNotInplace) || frozen_linear);
  traits.set("gives_none", variant(IdentityVariant::kMarkNotInplace) || reentrant || frozen_linear);
  traits.set("views", (identity && cell.identity != IdentityVariant::kCopy) ||
                          (traits.has("release") && nonreentrant && captures(plan.program)));
  traits.set("sums", identity || overlap || row);
  traits.set("mark_stops", rules.marked_output_stops_gradient);
  traits.set("frozen", std::any_of(plan.parameters.begin(), plan.parameters.end(),
                                   [](const ParameterSpec& spec) { return !spec.trainable; }));
  traits.set("split", tp && std::any_of(plan.parameters.begin(), plan.parameters.end(),
                                        [](const ParameterSpec& spec) {
                                          return spec.split != Split::kReplicated;
                                        }));
  traits.set("gain",
             std::any_of(plan.parameters.begin(), plan.parameters.end(),
                         [](const ParameterSpec& spec) { return value_gain(spec) != 1.0; }));
  traits.set("old", cell.framework == "paddle@2.6.2");
  // What is to be seen.
  traits.set("error", error);
  traits.set("missing", outcome.outcome == OutcomeClass::kMissingGrad);
  traits.set("reference", outcome.outcome == OutcomeClass::kWrongGrad);
  return traits;
}

// How the defect comes about, by what is on and what was seen.
std::string mechanism(const Traits& is, const Outcome& outcome) {
  const std::string returns = is.has("reshape")
                                  ? "A reshape to a tensor's own shape is the very tensor"
                                  : "With skip_c_identity the identity returns its very input";
  if (outcome.kind == kind::kLeafInplace) {
    if (is.has("detach"))
      return "The identity returns a fresh handle on its input's memory. That is a leaf, set to "
             "need a gradient and an "
             "input's memory, which PyLayer refuses.";
    const std::string leaf = outcome.first && outcome.first->phase == "recompute"
                                 ? "the input that reentrant recompute has detached"
                             : outcome.first && outcome.first->stage > 0
                                 ? "an activation received from the stage before"
                                 : "the input";
    return fmt::format(
        "{}. Here {} is a leaf that needs a gradient, which PyLayer refuses as an in-place output.",
        returns, leaf);
  }
  if (outcome.kind == kind::kInplaceVersion)
    return returns +
           ", which counts as a write in place. A matmul had saved that tensor at an earlier "
           "version.";
  if (outcome.kind == kind::kGradForStoppedInput)
    return "The overlapping linear's backward returns dx whatever x needs; here x stops gradients, "
           "and PyLayer refuses.";
  if (is.has("frozen_linear") && is.has("reference") && !is.has("skip"))
    return "The quantised linear gives dx only if the input that it saved needs a gradient. What "
           "non-reentrant recompute supplies for it is a new handle, which needs none.";
  if (outcome.kind == kind::kSaveNone)
    return "The layer's function saves its bias, a none, which this release's saved-tensor hooks "
           "refuse.";
  if (outcome.kind == kind::kUseAfterRelease)
    return "A recomputed block captured a tensor that its stage sends and then releases; the "
           "second run reads it.";
  if (outcome.kind == kind::kGraphFreed)
    return "A recomputed block captured a tensor instead of taking it as an argument. The inner "
           "backward runs through "
           "that tensor's history and frees it; the outer backward then finds it gone.";
  if (is.has("mark"))
    return "An output marked as not in-place is handed out as a new handle, but the history is set "
           "on the old one: "
           "gradients through the new one vanish" +
           std::string(outcome.kind == kind::kNoInputGrad ? ", and the stage before is sent none."
                                                          : ".");
  if (outcome.outcome == OutcomeClass::kMissingGrad)
    return "Reentrant recompute records nothing where a block's input needs no gradient; the "
           "block's parameters get none.";
  if (is.has("skip") || is.has("reshape"))
    return returns +
           ", so that tensor's own history becomes the identity's: all its other uses are "
           "all-reduced in "
           "backward too.";
  return "";
}

std::string parameter_table(const ReproPlan& plan, bool python) {
  const char* form = python ? "{}: ({}, ({}, {})" : "{{{}, {}, {}, {}";
  const char *whole = python ? "None" : "kWhole", *columns = python ? "1" : "kColumns",
             *rows = python ? "0" : "kRows";
  std::string table;
  for (const ParameterSpec& spec : plan.parameters) {
    const char* split = spec.split == Split::kReplicated ? whole
                        : spec.split == Split::kColumns  ? columns
                                                         : rows;
    std::string row = fmt::format(fmt::runtime(form), source_string(spec.name),
                                  value_number(spec.value_kind, spec.block, spec.term),
                                  spec.shape.rows, spec.shape.cols);
    if (plan.traits.has("split")) row += fmt::format(", {}", split);
    if (plan.traits.has("gain")) row += fmt::format(", {:.9g}", value_gain(spec));
    if (plan.traits.has("pp")) row += fmt::format(", {}", stage_of(spec.block, plan.cell));
    if (plan.traits.has("frozen"))
      row += python ? (spec.trainable ? ", True" : ", False")
                    : (spec.trainable ? ", true" : ", false");
    row += python ? ")," : "},";
    const std::size_t line = table.size() - std::min(table.size(), table.rfind('\n') + 1);
    if (!table.empty()) table += line + 1 + row.size() > 92 ? "\n" : " ";
    table += row;
  }
  return table;
}

// A single block that nothing recomputes needs no function of its own.
void splice_single_block(ModelProgram& program) {
  if (program.stages.size() != 1 || program.blocks.size() != 1) return;
  const Routine block = std::exchange(program.blocks, {})[0];
  std::vector<OperatorCall> calls;
  for (const OperatorCall& call : program.stages[0].calls) {
    if (call.op != ModelOperator::kRecompute) {
      calls.push_back(call);
      continue;
    }
    const auto rename = [&](ProgramValue& value) {
      if (value.id >= 0 && value.id == block.inputs[0].id) value = call.inputs[0];
      if (value.id >= 0 && value.id == block.outputs[0].id) value = call.output;
    };
    for (OperatorCall inner : block.calls) {
      for (ProgramValue& input : inner.inputs) rename(input);
      rename(inner.output);
      calls.push_back(inner);
    }
  }
  program.stages[0].calls = std::move(calls);
}

}  // namespace

int value_number(ValueKind kind, int block, int term) {
  return static_cast<int>(kind) * 97 + block * 31 + term * 13;
}

double value_gain(const ParameterSpec& spec) {
  const bool is_weight =
      spec.value_kind == ValueKind::kColumn || spec.value_kind == ValueKind::kRow;
  return is_weight && spec.shape.rows != 8 ? std::sqrt(8.0 / static_cast<double>(spec.shape.rows))
                                           : 1.0;
}

std::string comment(const std::string& prefix, const std::string& words) {
  std::string text, line = prefix;
  for (std::size_t start = 0; start < words.size();) {
    const auto end = std::min(words.find(' ', start), words.size());
    const std::string word = words.substr(start, end - start);
    if (line.size() + 1 + word.size() > 100 && line != prefix) {
      text += line + "\n";
      line = prefix;
    }
    line += " " + word;
    start = end + 1;
  }
  return text + line;
}

ReproPlan make_plan(const ReproRequest& request) {
  if (request.outcome.outcome == OutcomeClass::kPass)
    throw UsageError(
        "this cell passes: there is nothing to reproduce; give the flags of a failing cell");
  ReproPlan plan;
  plan.cell = request.cell;
  const Model& model = request.scenario.model;
  plan.program = model_program(model, plan.cell);
  const bool group = calls(plan.program, ModelOperator::kColumnLinear) ||
                     calls(plan.program, ModelOperator::kFrozenColumnLinear) ||
                     calls(plan.program, ModelOperator::kIdentity) ||
                     calls(plan.program, ModelOperator::kRowLinear) ||
                     calls(plan.program, ModelOperator::kGather);
  plan.tp = group ? plan.cell.tp : 1;
  plan.parameters = model.parameters(plan.cell);
  if (plan.cell.recompute == RecomputeKind::kNone) splice_single_block(plan.program);
  plan.traits = traits_of(plan, request.outcome);
  const OutcomeRow& row = row_of(request.outcome.outcome);
  plan.exit_status = row.exit_status;
  plan.outcome_words =
      std::string(row.name) + (request.outcome.kind.empty() ? "" : " " + request.outcome.kind);

  std::string flags;
  for (const std::string& flag : to_flags(plan.cell)) flags += (flags.empty() ? "" : " ") + flag;
  const std::string label = request.label.empty() ? flags : request.label;
  const std::string worst =
      request.outcome.worst_parameter.substr(0, request.outcome.worst_parameter.find('@'));
  std::string seen = plan.outcome_words;
  if (plan.traits.has("reference"))
    seen += fmt::format(": gradient of {} off by {:.2f} x its largest entry, and no error", worst,
                        request.outcome.worst.value_or(0.0));
  if (plan.traits.has("missing"))
    seen += fmt::format(": no gradient for {}, and no error",
                        request.outcome.where.substr(0, request.outcome.where.find('@')));
  const auto version = plan.cell.framework.substr(plan.cell.framework.find('@') + 1);
  const auto ranks = [](int number, const char* what) {
    return fmt::format("{} {}", number, what);
  };
  std::string layout;
  if (plan.tp > 1) layout = ranks(plan.tp, "tensor-parallel ranks");
  if (plan.cell.pp > 1)
    layout += (layout.empty() ? "" : " x ") + ranks(plan.cell.pp, "pipeline stages");
  const std::string skip = plan.traits.has("skips") ? "SKIP" : "False";
  plan.values = {
      {"LABEL", in_comment(label)},
      {"TITLE", in_comment(request.scenario.title)},
      {"UPSTREAM", in_comment(request.scenario.upstream)},
      {"SEEN", in_comment(seen)},
      {"OUTCOME", plan.outcome_words},
      {"KIND", request.outcome.kind},
      {"STATUS", std::to_string(plan.exit_status)},
      {"VERSION", version},
      {"LAYOUT", layout},
      {"MECHANISM", mechanism(plan.traits, request.outcome)},
      {"TP", std::to_string(plan.tp)},
      {"PP", std::to_string(plan.cell.pp)},
      {"WORLD", std::to_string(plan.tp * plan.cell.pp)},
      {"RECOMPUTE_ARGUMENTS",
       std::string(plan.traits.has("reentrant") ? "use_reentrant=True" : "use_reentrant=False") +
           (plan.traits.has("old") ? ", preserve_rng_state=False" : "")},
      // The framework's own functions of a group, around {} for what goes in.
      {"APPLY_IDENTITY", plan.traits.has("copy") || plan.traits.has("skip")
                             ? "mp_ops.c_identity_eager.apply({}, group, " + skip + ")"
                             : "Identity.apply({}, group)"},
      {"APPLY_ALL_REDUCE",
       "mp_ops.mp_allreduce_eager.apply({}, group, True, True, ReduceOp.SUM, " + skip + ")"},
      {"APPLY_FROZEN", "FrozenLinear.apply({})"},
      {"APPLY_GATHER", "Gather.apply({}, group)"},
      {"APPLY_OVERLAP",
       "mp_layers.InnerOverlapLinear.apply({}, None, False, True, " + skip + ", False, group)"},
      {"MICRO_BATCHES", std::to_string(plan.cell.acc)},
      {"TOKENS", std::to_string(plan.cell.tokens)},
      {"HIDDEN", std::to_string(plan.cell.hidden)},
      {"LOSS_SCALE", fmt::format("{}", plan.cell.loss_scale)},
      {"DATA", std::to_string(value_number(ValueKind::kData, 0, 0))},
      {"TARGET", std::to_string(value_number(ValueKind::kTarget, 0, 0))},
      {"PYTHON_PARAMETERS", parameter_table(plan, /*python=*/true)},
      {"CPP_PARAMETERS", parameter_table(plan, /*python=*/false)}};
  return plan;
}

std::string why_inexpressible(const ReproPlan& plan, const Outcome& outcome) {
  if (const std::string& framework = plan.cell.framework;
      !framework.starts_with("paddle@") || framework.find('+') != std::string::npos)
    return fmt::format("a stand-alone program under the rules of {} is not written yet: reproductions run on a release of "
                       "PaddlePaddle",
                       framework);
  switch (outcome.outcome) {
    case OutcomeClass::kError:
    case OutcomeClass::kWrongGrad:
    case OutcomeClass::kMissingGrad:
      break;
    default:
      return fmt::format("a stand-alone program for the outcome {} is not written yet",
                         row_of(outcome.outcome).name);
  }
  for (const Routine& block : plan.program.blocks)
    for (const OperatorCall& call : block.calls)
      if (call.op == ModelOperator::kRecompute)
        return "a recomputed block inside another one is not written yet";
  if (plan.cell.dtype != DType::kFloat32)
    return fmt::format("{} is not written yet: reproductions are float32",
                       name_of(plan.cell.dtype));
  if (calls(plan.program, ModelOperator::kOverlapLinear))
    return "an overlap linear whose wait may be left out is not written yet";
  if (plan.traits.has("reference") && plan.tp == 1)
    return "a wrong gradient without tensor-parallel ranks is not written yet: the reference would "
           "run the same program";
  if (plan.traits.has("mark") && plan.traits.has("scale"))
    return "mark_not_inplace before a scale, which crashes on a gradient that is not there, is not "
           "written yet";
  constexpr int kMostRanks = 16;
  if (plan.tp * plan.cell.pp > kMostRanks)
    return fmt::format(
        "{} ranks are more than one process per rank should show; give a cell of at most {}",
        plan.tp * plan.cell.pp, kMostRanks);
  constexpr int kMostElements = 16384;
  if (plan.cell.tokens * plan.cell.hidden > kMostElements ||
      plan.cell.hidden * plan.cell.hidden > kMostElements)
    return fmt::format(
        "{} tokens of {} features are too many to read; give a cell of at most {} elements a "
        "tensor",
        plan.cell.tokens, plan.cell.hidden, kMostElements);
  return "";
}

}  // namespace culprit
