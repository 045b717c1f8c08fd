// Ranks as threads: who fails, who is only left alone, who hangs, and what becomes of harness errors.
#include "engine/run_cell.hpp"

#include <atomic>
#include <stdexcept>

#include "base/error.hpp"
#include "gtest/gtest.h"
#include "outcome/judge.hpp"
#include "support/cells.hpp"

namespace culprit::test {
namespace {

using Inputs = std::vector<Tensor>;

// The stack with `before` run by each rank ahead of each stage forward.
Model stack_with(std::function<void(EngineOps&, const Inputs&)> before) {
  Model model = stack();
  model.run = [run = model.run, before](EngineOps& ops, BlockRange blocks, const Inputs& inputs) {
    before(ops, inputs);
    return run(ops, blocks, inputs);
  };
  return model;
}

// Which tensor rank runs: told by its shard of the first column weight, whose entries all differ.
int tensor_rank(EngineOps& ops) {
  const Cell& cell = ops.cell();
  const Shape square{cell.hidden, cell.hidden};
  const auto whole = make_values(ValueKind::kColumn, 0, 0, square);
  const auto mine = ops.parameter(column_name(0, 0)).impl()->to_host();
  for (int r = 0; r < cell.tp; ++r)
    if (shard_of(whole, square, Split::kColumns, r, cell.tp) == mine) return r;
  throw std::logic_error("no rank has this shard");
}

TEST(RunCellTest, GivesOneResultARankByStageThenTensorRank) {
  const auto results = run_cell(stack(), cell_of({{"tp", "2"}, {"pp", "2"}}));
  ASSERT_EQ(results.size(), 4U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(results[i].stage, i / 2);
    EXPECT_EQ(results[i].tp_rank, i % 2);
    EXPECT_FALSE(results[i].error);
  }
}

TEST(RunCellTest, OneRankOfAGroupOfFourFailsAlone) {
  const Cell cell = cell_of({{"tp", "4"}, {"pp", "1"}});
  const Model model = stack_with([](EngineOps& ops, const Inputs&) {
    if (tensor_rank(ops) == 2) throw SubjectError("OWN", "only here");
  });
  const auto results = run_cell(model, cell);
  for (int r = 0; r < 4; ++r) {
    ASSERT_TRUE(results[r].error) << r;
    EXPECT_EQ(results[r].error->kind, r == 2 ? "OWN" : "PEER_LOST") << r;
    EXPECT_TRUE(results[r].grads.empty());
  }
  const Outcome outcome = judge(cell, results, make_reference(model, cell, false));
  EXPECT_EQ(outcome.outcome, OutcomeClass::kError);
  EXPECT_EQ(outcome.kind, "OWN");
  EXPECT_EQ(outcome.where, "stage0.tp2:forward 0");
  ASSERT_TRUE(outcome.first);
  EXPECT_EQ(outcome.first->ranks, "2");
}

TEST(RunCellTest, HarnessErrorOfARanksThreadIsRethrownAfterAllHaveEnded) {
  std::atomic<int> calls{0};
  const Model model = stack_with([&](EngineOps& ops, const Inputs&) {
    ++calls;
    if (tensor_rank(ops) == 1) throw std::runtime_error("the harness broke");
  });
  const Cell cell = cell_of({{"tp", "4"}, {"pp", "1"}});
  try {
    run_cell(model, cell);
    FAIL() << "not rethrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the harness broke");
  }
  EXPECT_EQ(calls, 4);
}

TEST(RunCellTest, ImpossibleCellIsAUsageErrorWithItsReason) {
  Cell cell = cell_of({{"tp", "2"}});
  cell.tp = 3;
  try {
    run_cell(stack(), cell);
    FAIL() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("tp 3 can't split 8 features"), std::string::npos) << error.what();
  }
}

TEST(RunCellTest, ExtraCollectiveOfOneRankIsAHangThatNamesWhoWaitsWhere) {
  const Cell cell = cell_of({{"tp", "2"}, {"pp", "1"}, {"acc", "1"}, {"tail", "gather"}});
  // Rank 0 gathers once more after its output; rank 1 is then in the loss's backward, in another collective.
  Model model = stack();
  model.run = [run = model.run](EngineOps& ops, BlockRange blocks, const Inputs& inputs) {
    const Inputs outputs = run(ops, blocks, inputs);
    if (tensor_rank(ops) == 0)
      for (int i = 0; i < 8; ++i) ops.gather(inputs[0]);
    return outputs;
  };
  const auto results = run_cell(model, cell);
  ASSERT_TRUE(results[0].error);
  EXPECT_EQ(results[0].error->error_class, RankError::Class::kHang);
  EXPECT_NE(results[0].error->message.find("rank 0 waits in all-gather of mp_allgather's output for rank 1"),
            std::string::npos)
      << results[0].error->message;
  const Outcome outcome = judge(cell, results, make_reference(stack(), cell, false));
  EXPECT_EQ(outcome.outcome, OutcomeClass::kHang);
  EXPECT_EQ(outcome.where, "stage0.tp0:forward 0");
}

// A scale between the embedding and the blocks.
struct ScaledStack : StackModel {
  template <class Ops>
  static typename Ops::Value run(Ops& ops, BlockRange blocks, typename Ops::Value x) {
    x = ops.scale(ops.matmul(x, ops.parameter("embed")), 1.0);
    for (int b = blocks.first; b < blocks.end; ++b)
      x = ops.recompute([&ops, b](const typename Ops::Value& in) { return block<Ops>(ops, b, in); }, x);
    return x;
  }
};

TEST(RunCellTest, ScaleReachedWithoutAGradientIsAModelledCrash) {
  // The marked identity loses the gradient inside a reentrant block, which then gives none for its input;
  // the scale before the first block is reached with none.
  const Outcome outcome =
      run_once(make_model<ScaledStack>(),
               cell_of({{"pp", "1"}, {"identity", "mark_not_inplace"}, {"recompute", "reentrant"}}));
  EXPECT_EQ(name_of(outcome), "CRASH");
  EXPECT_EQ(outcome.kind, "SIGSEGV");
  EXPECT_EQ(outcome.where, "stage0.tp0:backward 0;stage0.tp1:backward 0");
}

TEST(RunCellTest, SignOfLifeIsGivenByEveryRank) {
  std::atomic<int> operations{0};
  run_cell(stack(), cell_of({{"tp", "2"}, {"pp", "2"}}),
           {.keep_micro_batch_grads = false, .on_operation = [&] { ++operations; }});
  // 4 ranks, 4 micro-batches, at least a column and a row linear forward and backward each
  EXPECT_GE(operations, 4 * 4 * 4);
}

TEST(RunCellTest, MicroBatchGradientsAreKeptWhenAskedFor) {
  const Cell cell = cell_of({{"tp", "1"}, {"pp", "2"}, {"acc", "3"}});
  for (const RankResult& rank : run_cell(stack(), cell, {.keep_micro_batch_grads = true, .on_operation = {}}))
    for (const ParameterGrad& parameter : rank.grads) {
      ASSERT_EQ(parameter.after_micro_batch.size(), 3U);
      EXPECT_NE(*parameter.after_micro_batch[0], *parameter.grad);
      EXPECT_EQ(*parameter.after_micro_batch[2], *parameter.grad);
    }
}

TEST(RunCellTest, MissingInputGradientIsRaisedByTheReceivingStage) {
  const Outcome outcome = outcome_of({{"identity", "mark_not_inplace"}, {"pp", "3"}});
  EXPECT_EQ(name_of(outcome), "ERROR");
  EXPECT_EQ(outcome.kind, "NO_INPUT_GRAD");
  EXPECT_EQ(outcome.where, "stage1.tp0:backward 0;stage1.tp1:backward 0");
}

TEST(RunCellTest, Rule31MegatronRefusesToReleaseWhatAnAllReduceReturned) {
  const Settings torch{{"framework", "torch@2.15.0"}, {"pp", "2"}, {"release", "1"}};
  const auto with = [&](Settings more) {
    more.insert(more.begin(), torch.begin(), torch.end());
    return outcome_of(more);
  };
  const Outcome refused = with({{"tail", "row"}});
  EXPECT_EQ(refused.kind, "RELEASED_VIEW");
  EXPECT_EQ(refused.where, "stage0.tp0:forward 0;stage0.tp1:forward 0");
  EXPECT_EQ(refused.message, "counter-productive to free a view of another tensor.");
  const Outcome gathered = with({{"tail", "gather"}}), added = with({{"residual", "1"}});
  EXPECT_EQ(name_of(gathered), "PASS");
  EXPECT_EQ(name_of(added), "PASS");
  EXPECT_EQ(gathered.freed, 8);
}

TEST(RunCellTest, Rule31ItsPartsCanBeTakenOverOneByOne) {
  const auto with = [&](const std::string& rule, Settings more) {
    more.insert(more.begin(), {{"framework", "paddle@3.3.1" + rule}, {"pp", "2"}});
    return outcome_of(more);
  };
  // The all-reduce's output has version 1.
  const Settings releases{{"release", "1"}, {"tail", "row"}};
  EXPECT_EQ(with("", releases).freed, 0);
  EXPECT_EQ(with("+views_not_released", releases).freed, 0);
  EXPECT_EQ(with("+any_version_released", releases).freed, 8);
  EXPECT_EQ(name_of(with("+any_version_released", releases)), "PASS");
  // The stage's output stops gradients, and none came for it.
  const Settings nothing{{"identity", "mark_not_inplace"}, {"recompute", "reentrant"}, {"embed", "0"}};
  EXPECT_EQ(with("", nothing).kind, "NO_INPUT_GRAD");
  EXPECT_EQ(with("+root_checked", nothing).kind, "NO_GRAD_FN");
}

TEST(RunCellTest, Rule31StageWithoutAGradientLooksAtItsRootFirst) {
  const auto with = [&](Settings more) {
    for (const auto& setting :
         Settings{{"framework", "torch@2.15.0"}, {"pp", "2"}, {"identity", "mark_non_differentiable"}, {"tail", "gather"}})
      more.push_back(setting);
    return outcome_of(more);
  };
  const Outcome none = with({}), released = with({{"release", "1"}});
  EXPECT_EQ(none.kind, "NO_INPUT_GRAD");
  EXPECT_EQ(none.message, "grad can be implicitly created only for scalar outputs");
  EXPECT_EQ(released.kind, "NO_INPUT_GRAD");
  EXPECT_NE(released.message.find("invalid gradient at index 0"), std::string::npos);
  EXPECT_EQ(with({{"recompute", "reentrant"}, {"embed", "0"}}).kind, "NO_GRAD_FN");
}

TEST(RunCellTest, Rule27ReentrantBlocksThatCaptureAScaledValueFreeItInTheLastStage) {
  const Scenario& scenario = scenario_named("released_tensor_read");
  Cell cell;
  apply_settings(scenario, cell, {{"framework", "torch@2.15.0"}, {"pp", "2"}, {"blocks", "4"}, {"recompute", "reentrant"}});
  const Outcome outcome = run_once(scenario.model, cell);
  EXPECT_EQ(outcome.kind, "GRAPH_FREED");
  EXPECT_EQ(outcome.where, "stage1.tp0:backward 0;stage1.tp1:backward 0");
}

TEST(RunCellTest, Rule31ReadingAReleasedOutputIsRefusedByName) {
  const Scenario& scenario = scenario_named("released_tensor_read");
  Cell cell = claim_cell(scenario);
  EXPECT_EQ(run_once(scenario.model, cell).kind, "USE_AFTER_RELEASE");
  cell.framework = "torch@2.15.0";
  try {
    run_once(scenario.model, cell);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("torch@2.15.0: what becomes of a released output that is read is not modelled"),
              std::string::npos);
  }
}

TEST(RunCellTest, SameCellGivesTheSameBitsEveryTime) {
  const Cell cell = cell_of({{"tp", "4"}, {"pp", "2"}, {"identity", "view"}, {"residual", "1"}});
  const auto first = run_cell(stack(), cell);
  for (int i = 0; i < 5; ++i) {
    const auto again = run_cell(stack(), cell);
    for (std::size_t r = 0; r < first.size(); ++r)
      for (std::size_t p = 0; p < first[r].grads.size(); ++p)
        EXPECT_EQ(*again[r].grads[p].grad, *first[r].grads[p].grad);
  }
}

}  // namespace
}  // namespace culprit::test
