// NCCL communicators of groups of devices, made when a group first meets and kept for later jobs.
#pragma once

#include <nccl.h>

#include <map>
#include <mutex>
#include <vector>

namespace culprit::cuda {

// Everything that one process's ranks have NCCL do is put on their devices by one thread at a time,
// for all members of a group at once: members then see the same order of calls, whatever else runs.
// Hold lock() over it.
class NcclCommunicators {
 public:
  NcclCommunicators() = default;
  ~NcclCommunicators();
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;

  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  // One a device, in their order. Errors: SetupError.
  const std::vector<ncclComm_t>& of(const std::vector<int>& devices);

 private:
  std::mutex mutex_;
  std::map<std::vector<int>, std::vector<ncclComm_t>> made_;
};

void check_nccl(ncclResult_t result, const char* call);

}  // namespace culprit::cuda
