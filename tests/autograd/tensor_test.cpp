// Rules 1 and 2: objects, impls, storages, version counters, leaves; release.
#include "support/one_rank.hpp"

namespace culprit::test {
namespace {

using TensorTest = OneRankTest;

TEST_F(TensorTest, VersionCounterIsSharedThroughViews) {
  const Tensor x = data({1, 2, 3, 4});
  const Tensor seen = view(context, x, {2, 2});
  const Tensor seen_again = view(context, seen, {4, 1});
  seen.impl()->bump_inplace_version();
  EXPECT_EQ(x.impl()->inplace_version(), 1U);
  EXPECT_EQ(seen_again.impl()->inplace_version(), 1U);
  EXPECT_NE(x.impl(), seen.impl());
}

TEST_F(TensorTest, CopyHasItsOwnVersionCounter) {
  const Tensor x = data({1, 2});
  const Tensor copy = assign(context, x);
  x.impl()->bump_inplace_version();
  EXPECT_EQ(copy.impl()->inplace_version(), 0U);
}

TEST_F(TensorTest, DetachIsANewObjectOnTheSameImplWithoutHistory) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor y = scale(context, w, 3.0);
  const Tensor detached = detach(context, y);
  EXPECT_FALSE(detached.is(y));
  EXPECT_EQ(detached.impl(), y.impl());
  EXPECT_TRUE(detached.stop_gradient());
  EXPECT_TRUE(detached.is_leaf());
  EXPECT_FALSE(y.is_leaf());
}

TEST_F(TensorTest, ReshapeToTheOwnShapeIsTheSameObjectWhateverTheGradientMode) {
  const Tensor w = parameter("w", {1, 2});
  EXPECT_TRUE(reshape(context, w, w.shape()).is(w));
  const GradMode off(context, false);
  EXPECT_TRUE(reshape(context, w, w.shape()).is(w));
}

TEST_F(TensorTest, ReshapeToAnotherShapeIsAView) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor column = reshape(context, w, {2, 1});
  EXPECT_FALSE(column.is(w));
  EXPECT_NE(column.impl(), w.impl());
  EXPECT_TRUE(shares_storage(column, w));
  backward(context, {column}, {tensor({2, 1}, {5, 6}, "seed", true)});
  EXPECT_EQ(values_of(w.grad()), (Floats{5, 6}));
  EXPECT_EQ(w.grad().shape(), (Shape{1, 2}));
}

TEST_F(TensorTest, ParameterStaysALeafAfterUseAndAResultIsNone) {
  const Tensor w = parameter("w", {1, 2});
  EXPECT_TRUE(w.is_leaf());
  const Tensor y = square(context, w);
  EXPECT_TRUE(w.is_leaf());
  EXPECT_FALSE(y.is_leaf());
  EXPECT_FALSE(y.stop_gradient());
}

TEST_F(TensorTest, ReleasedDataIsGoneAndReadingItSaysSo) {
  const Tensor x = data({1, 2});
  x.release();
  EXPECT_TRUE(x.released());
  const Raised error = raised([&] { scale(context, x, 2.0); });
  EXPECT_EQ(error.kind, kind::kUseAfterRelease);
  EXPECT_NE(error.message.find("Tensor (data) holds no memory"), std::string::npos) << error.message;
}

TEST_F(TensorTest, ReleaseFreesTheMemoryOfTheLastOwner) {
  const std::int64_t before = live_bytes();
  const Tensor x = data({1, 2, 3, 4});
  EXPECT_EQ(live_bytes() - before, 16);
  x.release();
  EXPECT_EQ(live_bytes(), before);
}

TEST_F(TensorTest, OtherOwnersKeepReleasedData) {
  const Tensor x = data({1, 2});
  const Tensor seen = view(context, x, {2, 1});
  const Tensor detached = detach(context, x);
  x.release();
  EXPECT_EQ(values_of(seen), (Floats{1, 2}));
  EXPECT_EQ(values_of(detached), (Floats{1, 2}));
}

TEST_F(TensorTest, ReleasedRootStillRunsBackwardFromItsNode) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor y = scale(context, w, 3.0);
  y.release();
  backward(context, {y}, {data({1, 10})});
  EXPECT_EQ(values_of(w.grad()), (Floats{3, 30}));
}

TEST_F(TensorTest, ValueSavedByAnOperatorOutlivesTheReleaseOfItsObject) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor h = scale(context, w, 3.0);
  const Tensor y = square(context, h);
  h.release();
  backward(context, {y}, {Tensor()});
  EXPECT_EQ(values_of(w.grad()), (Floats{18, 36}));
}

}  // namespace
}  // namespace culprit::test
