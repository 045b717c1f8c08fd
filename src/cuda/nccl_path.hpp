// The GPU memory of one rank that is a process, moved through NCCL between processes.
#pragma once

#include <nccl.h>

#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/cuda_backend.hpp"
#include "multiprocess/data_path.hpp"

namespace culprit::cuda {

// A rank's memory on its GPU.
class NcclRankBackend final : public CudaBackend {
 public:
  using CudaBackend::block_of;
  using CudaBackend::CudaBackend;
};

// Everything is put on the rank's second stream by the launching thread, in the same order in all
// processes, so no two of them can each wait for what the other has yet to start. NCCL's calls are
// told not to wait: where a process is gone, abort() ends what has been started, kernels included.
class NcclPath final : public DataPath {
 public:
  explicit NcclPath(int device) : device_(device) {}
  ~NcclPath() override;

  std::string token(const std::vector<int>& members) override;
  int largest_tag() const override { return std::numeric_limits<int>::max(); }  // it needs none
  std::shared_ptr<PathPart> start(Backend& backend, const std::vector<int>& members, std::size_t me,
                                  int tag, const CollectiveCall& collective) override;
  std::shared_ptr<PathPart> send(Backend& backend, int me, int to, int tag,
                                 std::shared_ptr<Parcel> parcel,
                                 std::int64_t num_elements) override;
  std::shared_ptr<PathPart> receive(Backend& backend, int me, int from, int tag, std::byte* data,
                                    std::int64_t num_elements) override;
  void drop(Backend&, int, int, std::int64_t) override {}  // what is not launched is not sent
  void abort() noexcept override;
  std::vector<std::int64_t> sent(int num_processes) override {
    return std::vector<std::int64_t>(static_cast<std::size_t>(num_processes));
  }
  void close(const std::vector<std::int64_t>&) override {}  // what is launched is always received

  // Runs `call(communicator)` of the group in which this rank is `me`, and waits until NCCL has
  // taken it over (not until it is done). Makes the communicator at the group's first call. On the
  // launching thread. Errors: PathAborted, SetupError.
  template <class Call>
  void run(const std::vector<int>& members, int me, const std::string& token, const char* name,
           Call call) {
    std::unique_lock lock(mutex_);
    use_device();
    const ncclComm_t comm = communicator(lock, members, me, token);
    settle(lock, comm, call(comm), name);
  }

 private:
  void use_device() const;
  ncclComm_t communicator(std::unique_lock<std::mutex>& lock, const std::vector<int>& members,
                          int me, const std::string& token);
  // Waits while the communicator's last call is under way in NCCL's own threads. Lets go of the
  // lock meanwhile, so that abort() gets in.
  void settle(std::unique_lock<std::mutex>& lock, ncclComm_t comm, ncclResult_t result,
              const char* name);
  void require_going_on() const;

  int device_;
  std::mutex mutex_;  // over every call of NCCL
  std::map<std::vector<int>, ncclComm_t> made_;
  std::map<std::vector<int>, std::string> tokens_;  // of groups that have not met yet
  std::atomic<bool> aborted_{false};
};

}  // namespace culprit::cuda
