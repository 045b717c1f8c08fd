// Rules 10 to 13: the regions and linear layers of a tensor-parallel group, on one rank of two
// whose peer gives the same numbers.
#include "parallel/linear_layers.hpp"
#include "parallel/regions.hpp"
#include "recompute/recompute.hpp"
#include "support/one_rank.hpp"

namespace culprit::test {
namespace {

// A group of two in which the peer always holds what this rank holds. Notes what happens when.
class MirrorCommunicator final : public Communicator {
 public:
  explicit MirrorCommunicator(Backend& backend) : backend_(backend) {}
  int rank() const override { return 1; }
  int size() const override { return 2; }
  void all_reduce(Elements buffer, const std::string& what) override {
    start_all_reduce(buffer, what)->wait();
  }
  std::unique_ptr<Work> start_all_reduce(Elements buffer, const std::string&) override {
    ++reduced;
    live_bytes_at_start = backend_.counters().live_bytes;
    return std::make_unique<MirrorWork>(*this, buffer);
  }
  void all_gather(Elements mine, Elements gathered, const std::string&) override {
    backend_.scale(1.0F, mine.data, gathered.data, mine.num_elements);
    backend_.scale(1.0F, mine.data, gathered.data + backend_.num_bytes(mine.num_elements),
                   mine.num_elements);
  }
  void send(Elements, int, const std::string&) override {}
  std::unique_ptr<Work> start_send(Elements, int, const std::string&) override { return nullptr; }
  void send_none(int, const std::string&) override {}
  bool receive(Elements, int, const std::string&) override { return false; }

  int reduced = 0, waited = 0;
  std::int64_t live_bytes_at_start = 0, live_bytes_at_wait = 0;

 private:
  class MirrorWork final : public Work {
   public:
    MirrorWork(MirrorCommunicator& comm, Elements buffer) : comm_(comm), buffer_(buffer) {}
    void wait() override {
      ++comm_.waited;
      comm_.live_bytes_at_wait = comm_.backend_.counters().live_bytes;
      comm_.backend_.scale(2.0F, buffer_.data, buffer_.data, buffer_.num_elements);
    }

   private:
    MirrorCommunicator& comm_;
    Elements buffer_;
  };
  Backend& backend_;
};

class RegionsTest : public OneRankTest {
 protected:
  std::int64_t copied_bytes() const { return backend->counters().copied_bytes; }

  MirrorCommunicator comm{*backend};
  TensorParallelGroup group{.comm = &comm, .rank = 1, .size = 2};
  Tensor w = parameter("w", {1, 2});
  Tensor x = scale(context, w, 1.0);  // needs a gradient and is no leaf
};

struct Variant {
  const char* name;
  IdentityVariant variant;
  bool same_object, same_impl, same_storage;
  unsigned version;  // of x after it
  std::int64_t copied;
};
const std::vector<Variant>& variants() {
  static const std::vector<Variant> list{
      {"Copy", IdentityVariant::kCopy, false, false, false, 0, 8},
      {"Skip", IdentityVariant::kSkip, true, true, true, 1, 0},
      {"View", IdentityVariant::kView, false, false, true, 0, 0},
      {"Reshape", IdentityVariant::kReshape, true, true, true, 1, 0},
      {"MarkNotInplace", IdentityVariant::kMarkNotInplace, false, true, true, 0, 0},
  };
  return list;
}
class IdentityRegionTest : public RegionsTest, public ::testing::WithParamInterface<Variant> {};

TEST_P(IdentityRegionTest, ResultAliasesItsInputAsDeclared) {
  const Variant& v = GetParam();
  const std::int64_t before = copied_bytes();
  const Tensor y = identity_region(context, group, v.variant, x);
  EXPECT_EQ(y.is(x), v.same_object);
  EXPECT_EQ(y.impl() == x.impl(), v.same_impl);
  EXPECT_EQ(shares_storage(y, x), v.same_storage);
  EXPECT_EQ(x.impl()->inplace_version(), v.version);
  EXPECT_EQ(copied_bytes() - before, v.copied);
  EXPECT_EQ(values_of(y), (Floats{1, 2}));
}

TEST_P(IdentityRegionTest, BackwardAllReducesUnlessTheHistoryIsLost) {
  const bool lost = GetParam().variant == IdentityVariant::kMarkNotInplace;
  const Tensor y = identity_region(context, group, GetParam().variant, x);
  backward(context, {scale(context, y, 1.0)}, {data({1, 10})});
  EXPECT_EQ(comm.reduced, lost ? 0 : 1);
  ASSERT_EQ(w.grad().defined(), !lost);
  if (!lost) {
    EXPECT_EQ(values_of(w.grad()), (Floats{2, 20}));
  }
}

TEST_P(IdentityRegionTest, LaterUseOfTheInputIsAllReducedExactlyWhereItsHistoryWasRebased) {
  identity_region(context, group, GetParam().variant, x);
  backward(context, {scale(context, x, 1.0)}, {data({1, 10})});
  const bool rebased =
      GetParam().same_object || GetParam().variant == IdentityVariant::kMarkNotInplace;
  EXPECT_EQ(values_of(w.grad()), (rebased ? Floats{2, 20} : Floats{1, 10}));
}

TEST_P(IdentityRegionTest, LeafIsRefusedExactlyWhereTheInputItselfIsReturned) {
  const Raised error = raised([&] { identity_region(context, group, GetParam().variant, w); });
  EXPECT_EQ(error.kind, GetParam().same_object ? std::string(kind::kLeafInplace) : "");
}

INSTANTIATE_TEST_SUITE_P(Variants, IdentityRegionTest, ::testing::ValuesIn(variants()),
                         [](const auto& instance) { return instance.param.name; });

TEST_F(RegionsTest, DetachVariantIsAlwaysRefusedWhereAGradientIsNeeded) {
  EXPECT_EQ(raised([&] { identity_region(context, group, IdentityVariant::kDetach, x); }).kind,
            kind::kLeafInplace);
  const Tensor free = data({1, 2});
  const Tensor y = identity_region(context, group, IdentityVariant::kDetach, free);
  EXPECT_EQ(y.impl(), free.impl());
  EXPECT_FALSE(y.is(free));
}

TEST_F(RegionsTest, IdentityBackwardWritesTheIncomingBufferItself) {
  const Tensor y = identity_region(context, group, IdentityVariant::kCopy, w);
  const Tensor seed = data({1, 10});
  backward(context, {y}, {seed});
  EXPECT_EQ(values_of(seed), (Floats{2, 20}));
  EXPECT_EQ(seed.impl()->inplace_version(), 0U);  // a collective moves no version
  EXPECT_TRUE(shares_storage(w.grad(), seed));
}

TEST_F(RegionsTest, AllReduceReturnsItsInputOneVersionUp) {
  const Tensor y = all_reduce_region(context, group, /*skip_backward_copy=*/false, x);
  EXPECT_TRUE(y.is(x));
  EXPECT_EQ(values_of(y), (Floats{2, 4}));
  EXPECT_EQ(y.impl()->inplace_version(), 1U);
}

TEST_F(RegionsTest, AllReduceMovesNoVersionWithoutGradients) {
  const GradMode off(context, false);
  EXPECT_EQ(all_reduce_region(context, group, false, x).impl()->inplace_version(), 0U);
}

TEST_F(RegionsTest, AllReduceBackwardCopiesTheGradientUnlessSkipped) {
  for (const bool skip : {false, true}) {
    const Tensor v = parameter("v", {1, 2});
    const Tensor y = all_reduce_region(context, group, skip, assign(context, v));
    Tensor passed;
    const std::int64_t before = copied_bytes();
    backward(context, {y}, {data({1, 1})});
    EXPECT_EQ(copied_bytes() - before, skip ? 0 : 8);
    EXPECT_EQ(values_of(v.grad()), (Floats{1, 1}));
    EXPECT_EQ(comm.reduced, skip ? 2 : 1);  // the forwards' alone
  }
}

TEST_F(RegionsTest, AllGatherIsFreshAndItsBackwardCopiesThisRanksSlice) {
  const Tensor shard = tensor({2, 1}, {1, 2}, "shard", /*stop_gradient=*/false);
  const Tensor y = all_gather_region(context, group, shard);
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  EXPECT_EQ(values_of(y), (Floats{1, 1, 2, 2}));
  EXPECT_FALSE(shares_storage(y, shard));
  const Tensor seed = tensor({2, 2}, {1, 2, 3, 4}, "seed", true);
  backward(context, {y}, {seed});
  EXPECT_EQ(values_of(shard.grad()), (Floats{2, 4}));  // of rank 1
  EXPECT_FALSE(shares_storage(shard.grad(), seed));
}

class OverlapLinearTest : public RegionsTest {
 protected:
  Tensor weight = tensor({2, 2}, {1, 2, 3, 4}, "weight", /*stop_gradient=*/false);
};

TEST_F(OverlapLinearTest, CopiesItsInputUnlessSkipped) {
  for (const bool skip : {false, true}) {
    const std::int64_t before = copied_bytes();
    const Tensor y = overlap_linear(context, group, skip, x, weight);
    EXPECT_EQ(copied_bytes() - before, skip ? 0 : 8);
    EXPECT_EQ(values_of(y), (Floats{7, 10}));
    EXPECT_FALSE(shares_storage(y, x));
    EXPECT_EQ(x.impl()->inplace_version(), 0U);
  }
}

TEST_F(OverlapLinearTest, GivesBothGradientsAndAllReducesTheInputs) {
  backward(context, {overlap_linear(context, group, true, x, weight)}, {data({1, 10})});
  EXPECT_EQ(values_of(w.grad()), (Floats{42, 86}));
  EXPECT_EQ(values_of(weight.grad()), (Floats{1, 10, 2, 20}));
}

TEST_F(OverlapLinearTest, ComputesTheWeightsGradientWhileTheAllReduceIsUnderWay) {
  backward(context, {overlap_linear(context, group, true, x, weight)}, {Tensor()});
  EXPECT_EQ(comm.live_bytes_at_wait - comm.live_bytes_at_start, 16);  // dw
}

TEST_F(OverlapLinearTest, ChecksNoVersionOfWhatItSaved) {
  const Tensor y = overlap_linear(context, group, true, x, weight);
  x.impl()->bump_inplace_version();
  weight.impl()->bump_inplace_version();
  EXPECT_EQ(raised([&] { backward(context, {y}, {Tensor()}); }).kind, "");
}

TEST_F(OverlapLinearTest, TakesALeafThatNeedsAGradient) {
  EXPECT_EQ(raised([&] { overlap_linear(context, group, true, w, weight); }).kind, "");
}

TEST_F(OverlapLinearTest, DataAsInputIsRefusedAfterTheCollectiveIsComplete) {
  const Tensor y = overlap_linear(context, group, true, data({1, 2}), weight);
  const Raised error = raised([&] { backward(context, {y}, {Tensor()}); });
  EXPECT_EQ(error.kind, kind::kGradForStoppedInput);
  EXPECT_NE(error.message.find("should return None at 0 position"), std::string::npos)
      << error.message;
  EXPECT_EQ(comm.waited, 1);
}

TEST_F(OverlapLinearTest, SavesANoneThatOnly262RefusesUnderNonReentrantRecompute) {
  for (Context* c : {&context, &context_262}) {
    const Block block = [&](const Tensors& inputs) {
      return overlap_linear(*c, group, true, inputs[0], weight);
    };
    const Raised error = raised([&] { recompute(*c, RecomputeKind::kNonReentrant, block, {w}); });
    EXPECT_EQ(error.kind, c == &context ? "" : std::string(kind::kSaveNone));
    EXPECT_EQ(raised([&] { recompute(*c, RecomputeKind::kReentrant, block, {w}); }).kind, "");
  }
}

TEST_F(OverlapLinearTest, RecomputedInEitherKindGivesTheSameGradients) {
  for (const auto kind : {RecomputeKind::kReentrant, RecomputeKind::kNonReentrant}) {
    const Tensor v = parameter("v", {1, 2}), u = tensor({2, 2}, {1, 2, 3, 4}, "u", false);
    const Block block = [&](const Tensors& inputs) {
      return overlap_linear(context, group, true, inputs[0], u);
    };
    backward(context, {recompute(context, kind, block, {v})}, {data({1, 10})});
    EXPECT_EQ(values_of(v.grad()), (Floats{42, 86}));
    EXPECT_EQ(values_of(u.grad()), (Floats{1, 10, 2, 20}));
  }
}

TEST_F(OverlapLinearTest, LayerKnowsCopyAndSkipOnly) {
  const ColumnParallelPolicy policy{.path = ColumnPath::kOverlap,
                                    .identity = IdentityVariant::kView};
  EXPECT_THROW(column_parallel_linear(context, group, policy, x, weight), std::invalid_argument);
}

TEST_F(OverlapLinearTest, LayersOfAGroupOfOneAreAPlainMatmulWithoutCommunicator) {
  const TensorParallelGroup alone;
  for (const auto path : {ColumnPath::kIdentity, ColumnPath::kOverlap}) {
    const ColumnParallelPolicy policy{.path = path, .identity = IdentityVariant::kSkip};
    EXPECT_EQ(values_of(column_parallel_linear(context, alone, policy, w, weight)),
              (Floats{7, 10}));
  }
  const Tensor y = row_parallel_linear(context, alone, false, w, weight);
  EXPECT_EQ(values_of(y), (Floats{7, 10}));
  EXPECT_EQ(y.impl()->inplace_version(), 0U);
}

TEST_F(OverlapLinearTest, RowLayerSumsOverTheGroup) {
  const Tensor y = row_parallel_linear(context, group, false, w, weight);
  EXPECT_EQ(values_of(y), (Floats{14, 20}));
  EXPECT_EQ(y.impl()->inplace_version(), 1U);
}

class FrozenLinearTest : public RegionsTest {
 protected:
  Tensor frozen = tensor({2, 2}, {1, 2, 3, 4}, "frozen", true);
  // The gradient that reaches v through the frozen linear under a kind of recomputation; empty if
  // none does.
  Floats grad_under(Context& c, RecomputeKind kind) {
    const Tensor v = parameter("v", {1, 2});
    const Block block = [&](const Tensors& inputs) { return frozen_linear(c, inputs[0], frozen); };
    backward(c, {recompute(c, kind, block, {v})}, {data({1, 10})});
    return v.grad().defined() ? values_of(v.grad()) : Floats{};
  }
};

TEST_F(FrozenLinearTest, GivesTheInputsGradientAndNoneForTheWeight) {
  EXPECT_EQ(grad_under(context, RecomputeKind::kNone), (Floats{21, 43}));
  EXPECT_EQ(grad_under(context, RecomputeKind::kReentrant), (Floats{21, 43}));
  EXPECT_FALSE(frozen.grad().defined());
}

TEST_F(FrozenLinearTest, WhatNonReentrantRecomputeSuppliesStopsGradientsSoNoneIsGiven) {
  EXPECT_EQ(grad_under(context, RecomputeKind::kNonReentrant), Floats{});
}

TEST_F(FrozenLinearTest, SavesANoneThat262Refuses) {
  EXPECT_EQ(raised([&] { grad_under(context_262, RecomputeKind::kNonReentrant); }).kind,
            kind::kSaveNone);
}

TEST_F(FrozenLinearTest, DataAsInputIsNoError) {
  const Tensor y = frozen_linear(context, add(context, data({1, 2}), x), frozen);
  EXPECT_EQ(raised([&] { backward(context, {y}, {Tensor()}); }).kind, "");
  EXPECT_TRUE(frozen_linear(context, data({1, 2}), frozen).stop_gradient());
}

}  // namespace
}  // namespace culprit::test
