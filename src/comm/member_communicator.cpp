#include "comm/member_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace culprit {
namespace {

int place_among(const std::vector<int>& members, int me) {
  const auto place = std::find(members.begin(), members.end(), me);
  if (place == members.end())
    throw std::invalid_argument(fmt::format("[group] rank {} is not a member", me));
  return static_cast<int>(place - members.begin());
}

CollectiveCall sum_of(Elements buffer, bool in_order) {
  return {.kind = ExchangeKind::kSum,
          .mine = buffer.data,
          .result = buffer.data,
          .num_elements = buffer.num_elements,
          .in_order = in_order};
}

}  // namespace

MemberCommunicator::MemberCommunicator(std::vector<int> members, int me, Backend& backend,
                                       StartedSends& started)
    : members_(std::move(members)),
      me_(me),
      rank_(place_among(members_, me)),
      backend_(backend),
      started_(started) {}

void MemberCommunicator::all_reduce(Elements buffer, const std::string& what) {
  counted_join(sum_of(buffer, /*in_order=*/true), what)->wait();
}
std::unique_ptr<Work> MemberCommunicator::start_all_reduce(Elements buffer,
                                                           const std::string& what) {
  return counted_join(sum_of(buffer, /*in_order=*/false), what);
}
void MemberCommunicator::all_gather(Elements mine, Elements gathered, const std::string& what) {
  if (gathered.num_elements != mine.num_elements * size())
    throw std::invalid_argument(fmt::format("[all_gather] got {} elements for {} members of {}",
                                            gathered.num_elements, size(), mine.num_elements));
  counted_join({.kind = ExchangeKind::kGather,
                .mine = mine.data,
                .result = gathered.data,
                .num_elements = mine.num_elements,
                .in_order = true},
               what)
      ->wait();
}
std::unique_ptr<Work> MemberCommunicator::counted_join(const CollectiveCall& call,
                                                       const std::string& what) {
  counters_.collectives += 1;
  counters_.collective_bytes += backend_.num_bytes(call.num_elements);
  return join(call, what);
}

void MemberCommunicator::send(Elements buffer, int to, const std::string&) {
  counters_.transfer_bytes += backend_.num_bytes(buffer.num_elements);
  counted_leave(to, backend_.pack(buffer.data, buffer.num_elements), buffer.num_elements);
}
std::unique_ptr<Work> MemberCommunicator::start_send(Elements buffer, int to, const std::string&) {
  counters_.transfer_bytes += backend_.num_bytes(buffer.num_elements);
  const std::shared_ptr<Parcel> parcel = backend_.start_pack(buffer.data, buffer.num_elements);
  return started_.start([this, parcel, to, count = buffer.num_elements] {
    backend_.finish_pack(*parcel);
    counted_leave(to, parcel, count);
  });
}
void MemberCommunicator::send_none(int to, const std::string&) { counted_leave(to, nullptr, 0); }
void MemberCommunicator::counted_leave(int to, std::shared_ptr<Parcel> parcel,
                                       std::int64_t num_elements) {
  counters_.transfers += 1;
  leave(members_.at(to), std::move(parcel), num_elements);
}

bool MemberCommunicator::receive(Elements buffer, int from, const std::string& what) {
  const int peer = members_.at(from);
  started_.flush();
  const std::int64_t num_elements = fetch(buffer, peer, what);
  if (num_elements == kNone) return false;
  if (num_elements != buffer.num_elements)
    throw std::logic_error(fmt::format("[receive] got {} elements from rank {}, expected {}",
                                       num_elements, peer, buffer.num_elements));
  return true;
}

}  // namespace culprit
