// Processes that meet over TCP, and what the others are told when one is gone, stands still or
// never comes. Each rank is a forked process; what it came to is its exit status.
#include <signal.h>

#include <thread>

#include "job_processes.hpp"
#include "multiprocess/process_runtime.hpp"

namespace culprit::test {
namespace {

using namespace std::chrono_literals;

// What a harness error of `body` says; empty: none.
std::string words_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
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

TEST(JobLinkTest, AKilledProcessEndsTheOthers) {
  for (const int victim : {0, 2}) {
    const int port = free_port();
    const Processes processes(3, [&](int rank) {
      const auto link = meet(rank, 3, port);
      try {
        link->gather({});
        if (rank == victim) raise(SIGSTOP);
        link->gather({});
      } catch (const JobEndedError& error) {
        const std::string name = "rank " + std::to_string(victim) + "'s process has ended";
        return std::string(error.what()).find(name) == std::string::npos ? 1 : error.exit_status();
      }
      return 2;
    });
    processes.await_stop(victim);
    processes.signal(victim, SIGKILL);
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(processes.end_of(rank), rank == victim ? 128 + SIGKILL : 16) << rank;
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
  EXPECT_EQ(processes.end_of(0), 16);
  processes.signal(1, SIGKILL);
  EXPECT_EQ(processes.end_of(1), 128 + SIGKILL);
}

TEST(JobLinkTest, SoDoesAStoppedRank0) {
  const int port = free_port();
  const Processes processes(3, [port](int rank) {
    const auto link = meet(rank, 3, port);
    link->gather({});
    if (rank == 0) raise(SIGSTOP);
    const std::string words = words_of([&] { link->gather({}); });
    return words == "rank 0's process gives no sign of life" ? 16 : 2;
  });
  EXPECT_EQ(processes.end_of(1), 16);
  EXPECT_EQ(processes.end_of(2), 16);
  processes.signal(0, SIGKILL);
  EXPECT_EQ(processes.end_of(0), 128 + SIGKILL);
}

TEST(JobLinkTest, AProcessThatGoesOnInTimeIsNotMissed) {
  for (const int victim : {0, 1}) {
    const int port = free_port();
    const Processes processes(2, [&](int rank) {
      const auto link = meet(rank, 2, port);
      link->gather({});
      if (rank == victim) raise(SIGSTOP);
      for (int i = 0; i < 30; ++i) {
        link->gather({});
        std::this_thread::sleep_for(50ms);
      }
      return 0;
    });
    processes.await_stop(victim);
    std::this_thread::sleep_for(1500ms);  // some beats; well below what counts as silence
    processes.signal(victim, SIGCONT);
    for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(processes.end_of(rank), 0) << rank;
  }
}

TEST(JobLinkTest, AJobThatIsSuspendedWholeHasNotStalled) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    const auto link = meet(rank, 2, port, 20s, 4s);
    ByteWriter open = message_of(ToCoordinator::kOpen);
    open.put(2);
    link->send(std::move(open));
    link->gather({});
    raise(SIGSTOP);
    std::this_thread::sleep_for(500ms);  // the coordinator looks again before anything is done
    link->gather({});
    return 0;
  });
  for (int rank = 0; rank < 2; ++rank) processes.await_stop(rank);
  std::this_thread::sleep_for(6s);  // longer than it may stall, or be silent
  for (int rank = 0; rank < 2; ++rank) processes.signal(rank, SIGCONT);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(processes.end_of(rank), 0) << rank;
}

TEST(JobLinkTest, AProcessThatLivesButNeverComesWhereTheOthersWaitIsNamed) {
  const int port = free_port();
  const Processes processes(3, [port](int rank) {
    const auto link = meet(rank, 3, port, 8s);
    if (rank == 1) std::this_thread::sleep_for(60s);
    link->gather({});
    return 2;
  });
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(processes.end_of(rank), 3) << rank;
  EXPECT_EQ(processes.words_of(0),
            "rank 1's process lives, but did not come to where the others wait within 8 s");
}

TEST(JobLinkTest, SoIsOneThatDoesNotLeaveWithRank0) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    const auto link = meet(rank, 2, port, 8s);
    if (rank == 1) std::this_thread::sleep_for(60s);
    return 0;
  });
  EXPECT_EQ(processes.end_of(0), 0);  // which waits until the others have left
  EXPECT_EQ(processes.end_of(1), 3);
}

// Its end is one that waits for ever, as a library's may that it asks to break off.
class Stuck final : public JobListener {
 public:
  void told(FromCoordinator, const std::string&) override {}
  void ended() noexcept override { std::this_thread::sleep_for(60s); }
};

TEST(JobLinkTest, NorDoesItsEndWaitForItsListener) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    Stuck stuck;
    const auto link = meet(rank, 2, port);
    link->gather({});
    if (rank == 1) ::_exit(0);
    link->set_listener(&stuck);
    link->gather({});
    return 2;
  });
  EXPECT_EQ(processes.end_of(1), 0);
  EXPECT_EQ(processes.end_of(0), 16);
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
  EXPECT_EQ(processes.end_of(1), 0);
  EXPECT_EQ(processes.end_of(0), 16);
}

TEST(JobLinkTest, AProcessThatNeverComesIsNamedAfterTheDeadline) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    if (rank == 1) return 0;
    try {
      meet(rank, 2, port, 3s);
    } catch (const Error& error) {
      return std::string(error.what()) ==
                     "of 2 processes rank 1 did not come within 3 s; was each started?"
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

// Listens as another program does, and answers each connection by `serve`.
class Foreigner {
 public:
  explicit Foreigner(std::function<void(int fd)> serve)
      : listener_("127.0.0.1", 0),
        thread_([this, serve = std::move(serve)](const std::stop_token& stop) {
          std::vector<UniqueFd> connections;
          while (!stop.stop_requested()) {
            UniqueFd fd = listener_.accept();
            if (!fd) {
              std::this_thread::sleep_for(5ms);
              continue;
            }
            serve(fd.get());
            connections.push_back(std::move(fd));
          }
        }) {}
  int port() const { return listener_.port(); }

 private:
  Listener listener_;
  std::jthread thread_;
};

TEST(JobLinkTest, AnotherProgramAtTheAddressIsAnErrorAndNoWait) {
  const auto say = [](std::string bytes) {
    return [bytes](int fd) { EXPECT_GE(::write(fd, bytes.data(), bytes.size()), 0); };
  };
  const Foreigner silent([](int) {}), greets(say("SSH-2.0-OpenSSH_9.2\r\n")),
      empty(say(std::string(8, '\0'))), other(say(std::string("\1\0\0\0\0\0\0\0\7", 9)));
  for (const Foreigner* foreigner : {&silent, &greets, &empty, &other}) {
    const std::string words = words_of([&] { meet(1, 2, foreigner->port(), 500ms); });
    EXPECT_NE(words, "");
    if (foreigner != &empty) {
      EXPECT_TRUE(words.starts_with("what listens at 127.0.0.1:")) << words;
    }
  }
}

TEST(JobLinkTest, Rank0OfAJobBeforeIsNotMistakenForThisOnes) {
  // It closes what still waits to be let in; whoever that was tries again.
  const int port = free_port();
  std::optional<Listener> before;
  before.emplace("127.0.0.1", port);
  const Processes processes(1, [&](int) {
    before.reset();  // this process's copy
    meet(1, 2, port);
    return 0;
  });
  std::this_thread::sleep_for(300ms);
  before.reset();
  const auto link = meet(0, 2, port);
  EXPECT_EQ(processes.end_of(0), 0);
}

TEST(JobLinkTest, WhoCantBeOfTheJobIsToldWhy) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    if (rank == 1) raise(SIGSTOP);
    const auto link = meet(rank, 2, port);
    return 0;
  });
  EXPECT_EQ(words_of([&] { meet(1, 3, port); }),
            "rank 0 does not let this process in: rank 1 of 3 processes, rank 0 is one of 2");
  EXPECT_EQ(words_of([&] { meet(2, 2, port); }),
            "rank 0 does not let this process in: rank 2 of 2 processes, rank 0 is one of 2");
  const auto raw = [&](const std::string& version, int rank) {
    Channel channel(connect_to("127.0.0.1", port, 2000ms));
    ByteWriter hello = message_of(ToCoordinator::kHello);
    hello.put_text("test");
    hello.put_text(version);
    hello.put(rank);
    hello.put(2);
    channel.send(hello.take());
    std::string answer;
    while (channel.receive(answer) == Channel::State::kNothingYet) channel.wait(100ms);
    ByteReader reader(answer);
    if (reader.get<FromCoordinator>() != FromCoordinator::kEnded) return std::string();
    reader.get<int>();
    return reader.get_text();
  };
  EXPECT_TRUE(raw("culprit 0.0", 1)
                  .starts_with("rank 0 does not let this process in: a process of culprit 0.0, "
                               "rank 0 is of culprit "));
  processes.await_stop(1);
  processes.signal(1, SIGCONT);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(processes.end_of(rank), 0) << rank;
}

TEST(JobLinkTest, WhoWasNotLetInIsNamedWhenTheJobDoesNotMeet) {
  const int port = free_port();
  const Processes processes(1, [port](int) {
    const std::string words = words_of([&] { meet(0, 2, port, 3s); });
    return words == "of 2 processes rank 1 did not come within 3 s; rank 1 of 3 processes, rank 0 "
                    "is one of 2 was not let in"
               ? 0
               : 1;
  });
  EXPECT_NE(words_of([&] { meet(1, 3, port); }), "");
  EXPECT_EQ(processes.end_of(0), 0);
}

TEST(JobLinkTest, ProcessesAtDifferentStepsAreAnError) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    const auto link = meet(rank, 2, port);
    const std::string words = words_of([&] {
      if (rank == 0) link->gather({});
      link->broadcast({});
    });
    return words.find("is at another step than rank") == std::string::npos ? 1 : 0;
  });
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(processes.end_of(rank), 0) << rank;
}

TEST(JobLinkTest, AGpuThatOneRankLacksEverybodySays) {
  const int port = free_port();
  const Processes processes(3, [port](int rank) {
    const auto link = meet(rank, 3, port);
    require_gpus(*link, "");
    const std::string some = words_of([&] { require_gpus(*link, rank == 0 ? "" : "no cuda:1"); });
    if (some !=
        "3 NCCL ranks need 3 GPUs, 1 found; --comm local runs 3 ranks on one GPU (rank 1: no "
        "cuda:1)")
      return 1;
    require_gpus(*link, "no driver");
    return 2;
  });
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(processes.end_of(rank), 77) << rank;
    EXPECT_EQ(processes.words_of(rank), "3 NCCL ranks need 3 GPUs, 0 found (rank 0: no driver)");
  }
}

TEST(ListenerTest, EveryInterfaceIsBothKindsOfAddresses) {
  const Listener listener("", 0);
  EXPECT_EQ(listener.own_address(), "127.0.0.1");
  EXPECT_TRUE(connect_to("127.0.0.1", listener.port(), 1000ms));
  bool has_ipv6 = true;
  try {
    const Listener probe("::1", 0);
  } catch (const SetupError&) {
    has_ipv6 = false;
  }
  if (!has_ipv6) GTEST_SKIP() << "no IPv6 here";
  EXPECT_TRUE(connect_to("::1", listener.port(), 1000ms));
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
      // One that never stops.
      Channel flood(connect_to("127.0.0.1", port, 2000ms));
      while (flood.send(std::string(1000, 'x') + std::string(1 << 20, '.'))) {
      }
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
