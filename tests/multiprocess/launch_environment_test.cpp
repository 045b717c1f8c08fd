// The variables of the launchers.
#include "multiprocess/launch_environment.hpp"

#include <map>

#include "base/error.hpp"
#include "gtest/gtest.h"

namespace culprit::test {
namespace {

using Variables = std::map<std::string, std::string>;
std::optional<LaunchEnvironment> read(const Variables& variables) {
  return launch_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(LaunchEnvironmentTest, NoLauncherIsNone) {
  EXPECT_FALSE(read({}));
  // A batch script of four tasks is no process of four.
  EXPECT_FALSE(read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
  EXPECT_FALSE(read({{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}}));
}

TEST(LaunchEnvironmentTest, TorchrunGivesRanksAndTheMeetingPlace) {
  Variables variables{{"RANK", "5"},
                      {"WORLD_SIZE", "8"},
                      {"LOCAL_RANK", "1"},
                      {"MASTER_ADDR", "node0"},
                      {"MASTER_PORT", "29500"},
                      {"TORCHELASTIC_RUN_ID", "a"}};
  const auto found = read(variables);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->launcher, "torchrun");
  EXPECT_EQ(found->rank, 5);
  EXPECT_EQ(found->size, 8);
  EXPECT_EQ(found->local_rank, 1);
  EXPECT_EQ(found->address, "node0");
  EXPECT_EQ(found->port, 29500);
  EXPECT_EQ(found->run_id, "a");
  // The launcher itself listens at the port then.
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(read(variables)->port, 29501);
}

TEST(LaunchEnvironmentTest, MpirunAndSrunMeetThroughMpiUnlessAnAddressIsGiven) {
  const auto mpirun = read({{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  ASSERT_TRUE(mpirun);
  EXPECT_EQ(mpirun->launcher, "mpirun");
  EXPECT_FALSE(mpirun->address);
  EXPECT_EQ(mpirun->local_rank, 0);
  const auto srun = read({{"SLURM_PROCID", "3"},
                          {"SLURM_STEP_NUM_TASKS", "4"},
                          {"SLURM_LOCALID", "1"},
                          {"MASTER_ADDR", "n"},
                          {"MASTER_PORT", "1"}});
  ASSERT_TRUE(srun);
  EXPECT_EQ(srun->launcher, "srun");
  EXPECT_EQ(srun->rank, 3);
  EXPECT_EQ(srun->address, "n");
}

TEST(LaunchEnvironmentTest, WhatIsWrongIsSaid) {
  const auto error_of = [](const Variables& variables) -> std::string {
    try {
      read(variables);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
            "RANK is 2, which is not below WORLD_SIZE = 2");
  EXPECT_EQ(error_of({{"RANK", "x"}, {"WORLD_SIZE", "2"}}),
            "RANK: got 'x', expected a number from 0");
  EXPECT_EQ(error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n"}}),
            "MASTER_PORT is not set, but the launcher's others are");
}

}  // namespace
}  // namespace culprit::test
