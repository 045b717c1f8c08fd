// Processes that meet over TCP, and what the others are told when one is gone, stands still or
// never comes. Each rank is a forked process; what it came to is its exit status.
#include "multiprocess/job_link.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "gtest/gtest.h"

namespace culprit::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

int free_port() { return Listener("127.0.0.1", 0).port(); }

// Forks a process for each rank; `body` gives its exit status, a harness error gives its own.
class Processes {
 public:
  Processes(int size, const std::function<int(int rank)>& body) {
    for (int rank = 0; rank < size; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) {
        int status = 99;
        try {
          status = body(rank);
        } catch (const Error& error) {
          std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
          status = error.exit_status();
        }
        ::_exit(status);
      }
      pids_.push_back(pid);
    }
  }
  pid_t pid(int rank) const { return pids_[rank]; }
  // The exit status, or 128 + the signal.
  int end_of(int rank) const {
    int status = 0;
    waitpid(pids_[rank], &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  std::vector<pid_t> pids_;
};

std::unique_ptr<JobLink> meet(int rank, int size, int port,
                              std::chrono::milliseconds deadline = 20s,
                              std::chrono::milliseconds stall = 60s) {
  std::optional<Listener> listener;
  if (rank == 0) listener.emplace("127.0.0.1", port);
  return std::make_unique<JobLink>(JobSettings{.rank = rank,
                                               .size = size,
                                               .address = "127.0.0.1",
                                               .port = port,
                                               .key = "test",
                                               .meeting_deadline = deadline,
                                               .stall_deadline = stall},
                                   std::move(listener));
}

TEST(JobLinkTest, EverybodyMeetsGathersAndIsTold) {
  const int port = free_port();
  const Processes processes(4, [port](int rank) {
    const auto link = meet(rank, 4, port);
    for (int round = 0; round < 50; ++round) {
      const std::string mine = "rank " + std::to_string(rank) + std::string(round * 1000, '.');
      const auto all = link->gather(mine);
      if (all.size() != (rank == 0 ? 4U : 0U)) return 1;
      if (rank == 0 && all[3] != "rank 3" + std::string(round * 1000, '.')) return 2;
      if (link->broadcast(rank == 0 ? "told" : "not asked") != "told") return 3;
    }
    return 0;
  });
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(processes.end_of(rank), 0) << rank;
}

TEST(JobLinkTest, AKilledProcessEndsTheOthersWithinSeconds) {
  for (const int victim : {0, 2}) {
    const int port = free_port();
    const Processes processes(3, [&](int rank) {
      const auto link = meet(rank, 3, port);
      link->gather({});
      if (rank == victim) std::this_thread::sleep_for(60s);
      try {
        link->gather({});
      } catch (const JobEndedError& error) {
        const std::string name = "rank " + std::to_string(victim) + "'s process has ended";
        return std::string(error.what()).find(name) == std::string::npos ? 1 : error.exit_status();
      }
      return 2;
    });
    std::this_thread::sleep_for(1s);
    const auto start = Clock::now();
    kill(processes.pid(victim), SIGKILL);
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(processes.end_of(rank), rank == victim ? 128 + SIGKILL : 16) << rank;
    EXPECT_LT(Clock::now() - start, 5s);
  }
}

TEST(JobLinkTest, AStoppedProcessGivesNoSignOfLife) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    const auto link = meet(rank, 2, port);
    link->gather({});
    if (rank == 1) raise(SIGSTOP);
    link->gather({});
    return 2;
  });
  const auto start = Clock::now();
  EXPECT_EQ(processes.end_of(0), 16);
  EXPECT_LT(Clock::now() - start, 7s);
  kill(processes.pid(1), SIGKILL);
  EXPECT_EQ(processes.end_of(1), 128 + SIGKILL);
}

TEST(JobLinkTest, AProcessThatIsStuckIsEndedWithItsJob) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    const auto link = meet(rank, 2, port);
    link->gather({});
    if (rank == 1) ::_exit(0);  // without a word
    std::this_thread::sleep_for(60s);
    return 2;
  });
  const auto start = Clock::now();
  EXPECT_EQ(processes.end_of(1), 0);
  EXPECT_EQ(processes.end_of(0), 16);
  EXPECT_LT(Clock::now() - start, 6s);
}

TEST(JobLinkTest, AProcessThatNeverComesIsNamedAfterTheDeadline) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    if (rank == 1) return 0;
    try {
      meet(rank, 2, port, 500ms);
    } catch (const Error& error) {
      return std::string(error.what()) ==
                     "of 2 processes rank 1 did not come within 0.5 s; was each started?"
                 ? error.exit_status()
                 : 1;
    }
    return 2;
  });
  EXPECT_EQ(processes.end_of(0), 3);
  EXPECT_EQ(processes.end_of(1), 0);
}

TEST(JobLinkTest, NobodyListensIsAnErrorAfterTheDeadline) {
  EXPECT_THROW(meet(1, 2, free_port(), 200ms), SetupError);
}

TEST(JobLinkTest, StrangersAreNotLetIn) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    const auto link = meet(rank, 2, port);
    std::vector<std::string> all = link->gather(std::to_string(rank));
    return rank == 0 && all != std::vector<std::string>{"0", "1"} ? 1 : 0;
  });
  for (int i = 0; i < 3; ++i) {
    try {
      Channel stranger(connect_to("127.0.0.1", port, 2000ms));
      stranger.send("GET / HTTP/1.1\r\n\r\n");
    } catch (const SetupError&) {
      // The job has come to its end already.
    }
  }
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(processes.end_of(rank), 0) << rank;
}

TEST(JobLinkTest, AProcessThatLeavesEarlyIsMissed) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    const auto link = meet(rank, 2, port);
    if (rank == 1) return 0;
    link->gather({});
    return 2;
  });
  EXPECT_EQ(processes.end_of(0), 3);
  EXPECT_EQ(processes.end_of(1), 0);
}

}  // namespace
}  // namespace culprit::test
