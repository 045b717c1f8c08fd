// Where a job's ranks run and through what they exchange: backends of one kind and a world that
// joins them.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"
#include "comm/process_group.hpp"
#include "tensor/device.hpp"

namespace culprit {

// Made once a process, used for any number of jobs, one after the other or several at a time. Must
// outlive what it made.
class Runtime {
 public:
  virtual ~Runtime() = default;
  // The memory of one rank of a job, for that rank's thread. Errors: UnavailableError when the
  // device has no room for it.
  virtual std::unique_ptr<Backend> make_backend(int world_rank, DType dtype) = 0;
  // The world of a job of `size` ranks. Errors: UnavailableError when it can't have that many;
  // UsageError when fewer processes were started.
  virtual std::unique_ptr<World> make_world(int size) = 0;
  // Where each rank is a process of its own: all of them, whose rank there is the rank in a job;
  // those beyond a job's size have no part in it, but make its world like the others. Null: every
  // rank is a thread of this process.
  virtual ProcessGroup* processes() { return nullptr; }
  // As a report names it.
  virtual std::string description() const = 0;
};

// Every rank a thread of this process with memory on `device`, whose backends move what the ranks
// exchange.
std::unique_ptr<Runtime> make_local_runtime(std::unique_ptr<Device> device);

// The default: make_local_runtime on the CPU.
Runtime& cpu_threads();

}  // namespace culprit
