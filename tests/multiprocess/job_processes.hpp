// Support: a job whose ranks are forked processes that meet over TCP on this machine.
#pragma once

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "gtest/gtest.h"
#include "multiprocess/job_link.hpp"

namespace culprit::test {

// One that no other program gets before this test's own processes listen there: it stays bound
// until the test program ends, by a socket that allows a second one to listen, and itself does not.
inline int free_port() {
  static std::vector<UniqueFd> held;
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd.get(), any, length) != 0 || getsockname(fd.get(), any, &length) != 0)
    throw std::runtime_error("no free port");
  held.push_back(std::move(fd));
  return ntohs(address.sin_port);
}

// Forks a process for each rank; `body` gives its exit status, a harness error gives its own, and a
// failed expectation 97.
class Processes {
 public:
  Processes(int size, const std::function<int(int rank)>& body) {
    for (int rank = 0; rank < size; ++rank) {
      std::array<int, 2> words{};
      if (pipe(words.data()) != 0) throw std::runtime_error("no pipe");
      const pid_t pid = fork();
      if (pid == 0) {
        int status = 99;
        try {
          status = body(rank);
        } catch (const Error& error) {
          std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
          status = error.exit_status();
          const std::string text = error.what();
          if (write(words[1], text.data(), text.size()) < 0) status = 98;
        }
        ::_exit(::testing::Test::HasFailure() ? 97 : status);
      }
      close(words[1]);
      pids_.push_back(pid);
      words_.push_back(words[0]);
    }
  }
  ~Processes() {
    for (const int fd : words_) close(fd);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Returns once it has stopped itself: it is then where its body raises SIGSTOP.
  void await_stop(int rank) const {
    int status = 0;
    waitpid(pids_[rank], &status, WUNTRACED);
    EXPECT_TRUE(WIFSTOPPED(status)) << "rank " << rank << " has ended";
  }
  void signal(int rank, int number) const { kill(pids_[rank], number); }
  // The exit status, or 128 + the signal.
  int end_of(int rank) const {
    int status = 0;
    waitpid(pids_[rank], &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  // Of the harness error that it ended with, once; empty: none.
  std::string words_of(int rank) const {
    std::array<char, 1000> text{};
    const ssize_t length = read(words_[rank], text.data(), text.size());
    return {text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
  }

 private:
  std::vector<pid_t> pids_;
  std::vector<int> words_;  // what each has to say
};

inline std::unique_ptr<JobLink> meet(int rank, int size, int port,
                                     std::chrono::milliseconds deadline = std::chrono::seconds(20),
                                     std::chrono::milliseconds stall = std::chrono::seconds(60)) {
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

}  // namespace culprit::test
