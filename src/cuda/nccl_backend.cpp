#include "cuda/nccl_backend.hpp"

#include "cuda/nccl_exchange.hpp"
#include "cuda/nccl_type.hpp"

namespace culprit::cuda {
namespace {

class NcclParcel final : public Parcel {
 public:
  NcclParcel(ParcelPool& sender_pool, std::unique_ptr<ParcelPool::Block> sent, int from_device,
             cudaStream_t from_stream)
      : pool(sender_pool), block(std::move(sent)), device(from_device), stream(from_stream) {}
  ~NcclParcel() override { pool.give_back(std::move(block)); }

  ParcelPool& pool;
  std::unique_ptr<ParcelPool::Block> block;
  int device;           // the sender's
  cudaStream_t stream;  // its stream for transfers
};

std::array<LaunchOrder::Turn, 2> turns_of_pair(LaunchOrder& order, int from, int to) {
  const auto both = order.lock();
  return {order.next_turn(from), order.next_turn(to)};
}

}  // namespace

const std::vector<ncclComm_t>& NcclBackend::communicators(const std::vector<int>& devices,
                                                          NcclCommunicators::Use use) {
  communicators_.require_sound();
  LastGroup& last = last_groups_[static_cast<std::size_t>(use)];
  if (last.devices != devices) last = {devices, &communicators_.of(devices, use)};
  return *last.comms;
}

std::unique_ptr<Parcel> NcclBackend::parcel_of(std::unique_ptr<ParcelPool::Block> block) {
  return std::make_unique<NcclParcel>(parcels(), std::move(block), device_, comm_stream());
}
ParcelPool::Block& NcclBackend::block_of(Parcel& parcel) {
  return *static_cast<NcclParcel&>(parcel).block;
}

void NcclBackend::unpack(Parcel& parcel, std::byte* c, std::int64_t num_elements) {
  auto& sent = static_cast<NcclParcel&>(parcel);
  if (sent.device == device_)
    return copy_from(*sent.block, c, num_elements);  // to itself: NCCL refuses one device twice
  const std::vector<ncclComm_t>& comms =
      communicators({sent.device, device_}, NcclCommunicators::Use::kInOrder);
  communicators_.put_in_turn(turns_of_pair(communicators_.order(), sent.device, device_), [&] {
    const auto count = static_cast<std::size_t>(num_elements);
    const OnDevice there(sent.device);
    sent.block->last_use.make_wait(sent.stream);
    communicators_.require_sound();  // a peer may have given up meanwhile
    NcclGroup group;
    check_nccl(
        ncclSend(sent.block->memory.data(), count, nccl_type(dtype()), 1, comms[0], sent.stream),
        "ncclSend");
    check_nccl(ncclRecv(c, count, nccl_type(dtype()), 0, comms[1], stream()), "ncclRecv");
    group.end();
    sent.block->last_use.record(sent.stream);
  });
}

void NcclBackend::collective_begins() {
  if (collectives_beside_++ == 0) leave_free(kLeftFreeMultiprocessors);
}
void NcclBackend::collective_ends() {
  if (--collectives_beside_ == 0) leave_free(0);
}

std::unique_ptr<Exchange> NcclBackend::make_exchange(std::size_t num_members) {
  return std::make_unique<NcclExchange>(num_members, communicators_);
}

}  // namespace culprit::cuda
