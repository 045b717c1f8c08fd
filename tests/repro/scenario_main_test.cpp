// The programs' own behaviour: exit statuses, messages, refusals.
#include <unistd.h>

#include "app/scenario_main.hpp"
#include "gtest/gtest.h"

namespace culprit {
namespace {

// Runs the program with its JSON line on stderr, where death tests look, and exits with its status.
[[noreturn]] void run_program(const char* scenario, std::vector<std::string> flags) {
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  flags.insert(flags.begin(), scenario);
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  argv.push_back(nullptr);
  std::exit(scenario_main(scenario_named(scenario), static_cast<int>(flags.size()), argv.data()));
}

class ScenarioMainDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ScenarioMainDeathTest, ReportedCombinationRaisesLeafInplace) {
  EXPECT_EXIT(run_program("skip_identity_leaf", {}), testing::ExitedWithCode(10),
              "Leaf Var .* that doesn't stop gradient can't use inplace strategy");
}
TEST_F(ScenarioMainDeathTest, TwoLinearsRaiseTheVersionError) {
  EXPECT_EXIT(
      run_program("skip_identity_two_linears", {}), testing::ExitedWithCode(10),
      "has been modified by an inplace operation. Its version is .* but the expected version is");
}
TEST_F(ScenarioMainDeathTest, StoppedInputNamesThePosition) {
  EXPECT_EXIT(run_program("overlap_stopped_input", {}), testing::ExitedWithCode(10),
              "backward function should return None at 0 position, because it's forward Tensor's "
              "stopgradient is true");
}
TEST_F(ScenarioMainDeathTest, ReleasedTensorReadIsNamed) {
  EXPECT_EXIT(run_program("released_tensor_read", {}), testing::ExitedWithCode(10),
              "USE_AFTER_RELEASE");
}
TEST_F(ScenarioMainDeathTest, SilentWrongGradientHasItsStatus) {
  EXPECT_EXIT(run_program("skip_identity_residual", {}), testing::ExitedWithCode(11),
              "\"outcome\":\"WRONG_GRAD\"");
}
TEST_F(ScenarioMainDeathTest, MissingGradientHasItsStatus) {
  EXPECT_EXIT(run_program("not_inplace_drops_grad", {}), testing::ExitedWithCode(12),
              "MISSING_GRAD");
}
// An empty value is an unset variable of a script: without its expectation the run would say something else.
TEST_F(ScenarioMainDeathTest, AnEmptyValueIsRefused) {
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--expect", ""}), testing::ExitedWithCode(2),
              "--expect: got an empty value");
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--trace", ""}), testing::ExitedWithCode(2),
              "--trace: got an empty value");
}
TEST_F(ScenarioMainDeathTest, AFlagGivenTwiceOrWithoutItsValueSaysSo) {
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--tp", "2", "--tp", "4"}),
              testing::ExitedWithCode(2), "--tp: given 2 times, expected once");
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--pp", "2", "--tp"}), testing::ExitedWithCode(2),
              "--tp: got no value, expected N");
}
TEST_F(ScenarioMainDeathTest, AStallThatIsNoNumberIsRefused) {
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--stall", "nan"}), testing::ExitedWithCode(2),
              "--stall: got nan, expected a number of seconds from 0.1 to 3600");
}
TEST_F(ScenarioMainDeathTest, CleanTwinExitsWithZero) {
  EXPECT_EXIT(run_program("skip_identity_residual", {"--clean"}), testing::ExitedWithCode(0),
              "\"PASS\"");
}
TEST_F(ScenarioMainDeathTest, ExpectTurnsTheOutcomeIntoSuccess) {
  EXPECT_EXIT(run_program("skip_identity_leaf",
                          {"--skip-c-identity", "--recompute", "--expect", "ERROR:LEAF_INPLACE"}),
              testing::ExitedWithCode(0), "");
}
TEST_F(ScenarioMainDeathTest, ExpectNotMetIsOne) {
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--tp", "2", "--expect", "ERROR"}),
              testing::ExitedWithCode(1), "expected ERROR, got PASS");
}
TEST_F(ScenarioMainDeathTest, DeviceThatIsNotHereIsNoOutcome) {
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--device", "cuda:99"}),
              testing::ExitedWithCode(77), "--device cuda");
}
TEST_F(ScenarioMainDeathTest, DeviceOrCommunicatorThatIsNoneSaysWhatIs) {
  for (const char* device : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x"})
    EXPECT_EXIT(run_program("skip_identity_leaf", {std::string("--device=") + device}),
                testing::ExitedWithCode(2), "expected cpu, cuda or cuda:INDEX");
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--comm=smoke"}), testing::ExitedWithCode(2),
              "--comm: got 'smoke'");
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--comm=nccl"}), testing::ExitedWithCode(2),
              "add --device cuda");
}
TEST_F(ScenarioMainDeathTest, WorkerTakesNoCellBesideThoseOfItsInput) {
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--worker", "--tp=2"}), testing::ExitedWithCode(2),
              "from stdin");
}
TEST_F(ScenarioMainDeathTest, TypeIsPartOfTheCell) {
  EXPECT_EXIT(run_program("skip_identity_residual", {"--clean"}), testing::ExitedWithCode(0),
              "\"dtype\":\"float32\"");
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--dtype=bfloat16"}), testing::ExitedWithCode(0),
              "\"dtype\":\"bfloat16\"");
}
TEST_F(ScenarioMainDeathTest, ImpossibleSizeSaysWhy) {
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--tp", "3"}), testing::ExitedWithCode(2),
              "tp 3 can't split 8 features");
}
TEST_F(ScenarioMainDeathTest, UnknownFlagNamesTheNearest) {
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--recomput"}), testing::ExitedWithCode(2),
              "--recompute");
}
TEST_F(ScenarioMainDeathTest, ContradictoryIdentityFlagsAreRefused) {
  EXPECT_EXIT(run_program("skip_identity_leaf", {"--skip-c-identity", "--identity=view"}),
              testing::ExitedWithCode(2), "contradicts");
}

}  // namespace
}  // namespace culprit
