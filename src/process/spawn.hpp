// Starts one child process: own process group, given descriptors, nothing else inherited.
// Used by process_runner only.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "process/unique_fd.hpp"

namespace culprit {

struct SpawnFds {
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  int progress_fd = -1;  // -1: none; else inherited as kProgressFd
};

struct Spawned {
  pid_t pid = -1;         // also the id of its process group; -1 when it could not start
  int error = 0;          // errno when it could not start
  const char* step = "";  // what failed: "find", "fork", "chdir", "exec"
};

// `environment` is complete ("NAME=value"). The child dies with SIGKILL when the calling thread
// dies, so that thread must outlive it. The caller reaps. Thread-safe; does not copy the caller's
// memory.
Spawned spawn_process(const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, const std::string& directory,
                      const SpawnFds& fds);

}  // namespace culprit
