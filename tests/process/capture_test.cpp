#include "process/capture.hpp"

#include <gtest/gtest.h>

namespace culprit {
namespace {

TEST(CaptureTest, KeepsEverythingUpToTheLimit) {
  Capture capture(10);
  capture.append("01234");
  capture.append("56789");
  const CapturedText kept = capture.take();
  EXPECT_EQ(kept.text(), "0123456789");
  EXPECT_EQ(kept.dropped_bytes, 0u);
}

TEST(CaptureTest, KeepsHeadAndTailAndSaysWhatIsMissing) {
  for (std::size_t step : {1u, 3u, 7u, 100u}) {
    std::string all;
    for (int i = 0; i < 100; ++i) all += static_cast<char>('!' + i % 90);
    Capture capture(11);
    for (std::size_t at = 0; at < all.size(); at += step)
      capture.append(std::string_view(all).substr(at, step));
    const CapturedText kept = capture.take();
    EXPECT_EQ(kept.head, all.substr(0, 6)) << step;
    EXPECT_EQ(kept.tail, all.substr(95)) << step;
    EXPECT_EQ(kept.dropped_bytes, 89u) << step;
    EXPECT_EQ(kept.total_bytes(), 100u) << step;
    EXPECT_EQ(kept.text(), kept.head + "\n[... 89 bytes dropped ...]\n" + kept.tail) << step;
  }
}

TEST(CaptureTest, LimitZeroKeepsNothing) {
  Capture capture(0);
  capture.append("abc");
  const CapturedText kept = capture.take();
  EXPECT_EQ(kept.dropped_bytes, 3u);
  EXPECT_EQ(kept.head + kept.tail, "");
}

}  // namespace
}  // namespace culprit
