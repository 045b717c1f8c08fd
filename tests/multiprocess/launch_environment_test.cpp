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
  const std::string kAdvice = "; set it too, or unset them all to run the ranks in one process";
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
            "MASTER_PORT is not set, but the launcher's others are" + kAdvice);
  EXPECT_EQ(error_of({{"RANK", "0"}}),
            "WORLD_SIZE is not set, but the launcher's others are" + kAdvice);
  EXPECT_EQ(error_of({{"WORLD_SIZE", "2"}}),
            "RANK is not set, but the launcher's others are" + kAdvice);
  EXPECT_EQ(error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "MASTER_ADDR is not set, but the launcher's others are" + kAdvice);
  EXPECT_EQ(error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}),
            "LOCAL_RANK is 2, which is not below WORLD_SIZE = 2");
  EXPECT_EQ(error_of({{"RANK", "0"}, {"WORLD_SIZE", "0"}}),
            "RANK is 0, which is not below WORLD_SIZE = 0");
  EXPECT_EQ(
      error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", ""}, {"MASTER_PORT", "1"}}),
      "MASTER_ADDR: got '', expected the address of rank 0's machine");
  for (const char* port : {"0", "65536"})
    EXPECT_EQ(
        error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n"}, {"MASTER_PORT", port}}),
        "MASTER_PORT: got " + std::string(port) + ", expected a port from 1 to 65535");
  EXPECT_EQ(error_of({{"RANK", "0"},
                      {"WORLD_SIZE", "2"},
                      {"MASTER_ADDR", "n"},
                      {"MASTER_PORT", "65535"},
                      {"TORCHELASTIC_USE_AGENT_STORE", "True"}}),
            "MASTER_PORT: got 65535, expected a port from 1 to 65535");
}

TEST(LaunchEnvironmentTest, VariablesThatWereLeftOverAreSaid) {
  Variables variables{{"RANK", "0"},
                      {"WORLD_SIZE", "1"},
                      {"OMPI_COMM_WORLD_RANK", "2"},
                      {"OMPI_COMM_WORLD_SIZE", "4"}};
  EXPECT_THROW(read(variables), UsageError);
  // Each of four processes of srun or mpirun may well start a torchrun.
  variables["TORCHELASTIC_RUN_ID"] = "a";
  EXPECT_EQ(read(variables)->size, 1);
  // More than the launcher around them: torchrun, or a script, on each of some nodes.
  EXPECT_EQ(read({{"RANK", "5"},
                  {"WORLD_SIZE", "8"},
                  {"MASTER_ADDR", "n"},
                  {"MASTER_PORT", "1"},
                  {"SLURM_PROCID", "1"},
                  {"SLURM_STEP_NUM_TASKS", "2"}})
                ->rank,
            5);
}

TEST(LaunchEnvironmentTest, StepsOfABatchJobAreApart) {
  EXPECT_EQ(read({{"SLURM_PROCID", "0"},
                  {"SLURM_STEP_NUM_TASKS", "2"},
                  {"SLURM_JOB_ID", "17"},
                  {"SLURM_STEP_ID", "3"}})
                ->run_id,
            "17.3");
}

TEST(LaunchEnvironmentTest, OfMpiTheLauncherIsMpirun) {
  Variables variables{
      {"RANK", "3"}, {"WORLD_SIZE", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}};
  const auto read_mpi = [&] {
    return mpi_launch_environment([&](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_EQ(read_mpi()->launcher, "torchrun");
  EXPECT_EQ(read_mpi()->size, 4);
  variables["OMPI_COMM_WORLD_RANK"] = "0";
  variables["OMPI_COMM_WORLD_SIZE"] = "1";
  EXPECT_EQ(read_mpi()->launcher, "mpirun");
  EXPECT_EQ(read_mpi()->size, 1);
  variables.clear();
  EXPECT_FALSE(read_mpi());
}

}  // namespace
}  // namespace culprit::test
