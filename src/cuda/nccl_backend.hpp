// A rank on a GPU of its own: collectives and transfers go through NCCL.
//
// The communicator above (LocalWorld) calls complete() only when every member has come, and
// unpack() only for what was sent, so nothing waits on a device for a rank that may never come: a
// lost rank or a deadlock is found by the host, exactly, with no kernel to abort.
#pragma once

#include <array>

#include "cuda/cuda_backend.hpp"
#include "cuda/nccl_communicators.hpp"

namespace culprit::cuda {

class NcclBackend final : public CudaBackend {
 public:
  // As CudaBackend; `communicators` must outlive it.
  NcclBackend(DType dtype, int device, ResourcePool& pool, NcclCommunicators& communicators)
      : CudaBackend(dtype, device, pool), device_(device), communicators_(communicators) {
    leave_free(0);  // whoever had the resources before may have ended in the middle
  }

  void unpack(Parcel& parcel, std::byte* c, std::int64_t num_elements) override;
  // A sum is added in the order that NCCL chooses: the same to the bit for all members, and for two
  // in member order.
  std::unique_ptr<Exchange> make_exchange(std::size_t num_members) override;

  int device() const { return device_; }

  // NcclCommunicators::of, remembered: most calls of a rank are of one group.
  const std::vector<ncclComm_t>& communicators(const std::vector<int>& devices,
                                               NcclCommunicators::Use use);
  // What this rank's collectives ask of it. A collective beside its products, from the call to the
  // moment it is waited for: they leave it some multiprocessors meanwhile.
  void collective_begins();
  void collective_ends();

 protected:
  std::unique_ptr<Parcel> parcel_of(std::unique_ptr<ParcelPool::Block> block) override;
  ParcelPool::Block& block_of(Parcel& parcel) override;

 private:
  int device_;
  NcclCommunicators& communicators_;
  struct LastGroup {
    std::vector<int> devices;
    const std::vector<ncclComm_t>* comms = nullptr;
  };
  std::array<LastGroup, 3> last_groups_;  // by use
  int collectives_beside_ = 0;
};

}  // namespace culprit::cuda
