// Support: a job whose ranks are forked processes that meet over TCP on this machine.
#pragma once

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

inline int free_port() { return Listener("127.0.0.1", 0).port(); }

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

  pid_t pid(int rank) const { return pids_[rank]; }
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

inline std::unique_ptr<JobLink> meet(
    int rank, int size, int port, std::chrono::milliseconds deadline = std::chrono::seconds(20),
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
