// What a triage concludes from what the back ends came to.
#include "matrix/triage.hpp"

#include "gtest/gtest.h"

namespace culprit::test {
namespace {

TriageRow row(const std::string& backend, const std::string& failing,
              std::optional<std::string> waited = {}) {
  return {.backend = backend, .absent = {}, .failing = failing, .twin = "", .waited = waited};
}
TriageRow absent(const std::string& backend) {
  return {.backend = backend, .absent = "not here", .failing = {}, .twin = {}, .waited = {}};
}

TEST(TriageTest, FailsAlikeEverywhereIsIndependent) {
  const Triage result = judge_triage({row("cpu+local", "ERROR:A@forward"),
                                      row("cpu+mpi", "ERROR:A@forward"), absent("cuda+local")});
  EXPECT_EQ(result.verdict, TriageVerdict::kIndependent);
  EXPECT_EQ(result.in_words, "independent of back end (cpu+local, cpu+mpi)");
}

TEST(TriageTest, FailsOnSomeIsOnlyWithThose) {
  const Triage result = judge_triage(
      {row("cpu+local", ""), row("cpu+mpi", "WRONG_LOSS"), row("cuda+nccl", "WRONG_LOSS")});
  EXPECT_EQ(result.verdict, TriageVerdict::kOnlyWith);
  EXPECT_EQ(result.in_words, "only with cpu+mpi, cuda+nccl");
}

TEST(TriageTest, FailsDifferentlyIsToldOfEach) {
  const Triage result =
      judge_triage({row("cpu+local", "ERROR:A@forward"), row("cpu+mpi", "HANG@backward")});
  EXPECT_EQ(result.verdict, TriageVerdict::kOnlyWith);
  EXPECT_EQ(
      result.in_words,
      "only with its own failure each: ERROR:A@forward on cpu+local, HANG@backward on cpu+mpi");
}

TEST(TriageTest, AWaitThatClearsItWhereverItFailsIsTiming) {
  // Which of two threads is first may let it pass once: what fails is what counts.
  const Triage result =
      judge_triage({row("cpu+local", "WRONG_GRAD@backward", ""), row("cuda+local", "", "")});
  EXPECT_EQ(result.verdict, TriageVerdict::kTimingOnly);
  EXPECT_EQ(result.in_words, "timing only (with the wait it passes: cpu+local)");
  EXPECT_NE(judge_triage({row("cpu+local", "WRONG_GRAD@backward", "WRONG_GRAD@backward"),
                          row("cpu+mpi", "WRONG_GRAD@backward", "WRONG_GRAD@backward")})
                .verdict,
            TriageVerdict::kTimingOnly);
}

TEST(TriageTest, AnotherOutcomeUnderLaunchBlockingIsTiming) {
  TriageRow blocking = row("cuda+local, CUDA_LAUNCH_BLOCKING=1", "");
  blocking.is_blocking = true;
  const Triage result =
      judge_triage({row("cpu+local", ""), row("cuda+local", "WRONG_GRAD@backward"), blocking});
  EXPECT_EQ(result.verdict, TriageVerdict::kTimingOnly);
  EXPECT_EQ(result.in_words,
            "timing only (PASS under CUDA_LAUNCH_BLOCKING=1, WRONG_GRAD@backward without)");
}

TEST(TriageTest, ABackEndThatFailsThePassingNeighbourTooIsNotJudged) {
  TriageRow broken = row("cpu+mpi", "CRASH:SIGKILL");
  broken.twin = "CRASH:SIGKILL";
  const std::string told =
      "; cpu+mpi is not judged: the passing neighbour fails there too (CRASH:SIGKILL)";
  const Triage one = judge_triage({row("cpu+local", "ERROR:A@forward"), broken});
  EXPECT_EQ(one.verdict, TriageVerdict::kUndecided);
  EXPECT_EQ(one.in_words, "undecided (only cpu+local is here)" + told);
  const Triage two = judge_triage(
      {row("cpu+local", "ERROR:A@forward"), broken, row("cuda+local", "ERROR:A@forward")});
  EXPECT_EQ(two.verdict, TriageVerdict::kIndependent);
  EXPECT_EQ(two.in_words, "independent of back end (cpu+local, cuda+local)" + told);
  // Nor does it make a fault of timing of one under CUDA_LAUNCH_BLOCKING.
  broken.is_blocking = true;
  EXPECT_EQ(judge_triage({row("cuda+local", "ERROR:A@forward"), broken}).verdict,
            TriageVerdict::kUndecided);
}

TEST(TriageTest, OneBackEndDecidesNothing) {
  const Triage result = judge_triage({row("cpu+local", "ERROR:A@forward"), absent("cpu+mpi")});
  EXPECT_EQ(result.verdict, TriageVerdict::kUndecided);
  EXPECT_EQ(result.in_words, "undecided (only cpu+local is here)");
}

}  // namespace
}  // namespace culprit::test
