// Where a rank's memory lives and its arithmetic happens. One Backend a rank, used by that rank's
// thread alone. A backend knows memory and numbers, never gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace culprit {

// What a rank's memory has gone through, counted by its backend.
struct MemoryCounters {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t copied_bytes = 0;  // by copy() alone: what a fix that copies costs
};

// Part of a rank's memory, for a collective or transfer that reads or writes it directly. Valid
// while it has an owner.
struct Elements {
  std::byte* data = nullptr;
  std::int64_t num_elements = 0;
};

// Values on their way from one rank's memory to another's. Made by the sender's backend, read by
// the receiver's, on whichever thread lets go of it last. Both backends must be of one kind and
// type.
class Parcel {
 public:
  virtual ~Parcel() = default;
};

class Backend;

// What a member gets of a collective. kSum: the sum of all members' memory, added in member order,
// so that it is the same to the bit for all. kGather: the members' memory in member order.
enum class ExchangeKind { kSum, kGather };

// One member's call of a collective.
struct CollectiveCall {
  ExchangeKind kind = ExchangeKind::kSum;
  const std::byte* mine = nullptr;
  std::byte* result = nullptr;  // alias: may be `mine` (a sum in place)
  std::int64_t num_elements = 0;  // of `mine`
  // The member does nothing else before it takes the result: the collective may be done in the
  // order of its backend's work. Else it is done beside that.
  bool in_order = false;
};

// The memory side of one collective among ranks of this process. Who has come, and whether all ever
// will, is the communicator's matter: it makes the calls of give(), complete() and abandon() one at
// a time, from any member's thread; those of launch() and take() may come at the same time as any
// of another member. Members of a defective program may ask for different kinds; each gets its own.
class Exchange {
 public:
  static constexpr int kMostAttending = 63;  // members beyond never do

  virtual ~Exchange() = default;
  // A member lends its memory: from now on, in the order of `backend`'s work, `call.mine` may be
  // read, until take() or abandon().
  virtual void give(std::size_t member, Backend& backend, const CollectiveCall& call) = 0;
  // Once, after every member has given equally much; called by the last to give. `attends`: which
  // members will call launch() now, a bit each; what the others have to do, the caller's does. Where
  // it throws nobody gets a result.
  virtual void complete(std::uint64_t attends) = 0;
  // Whether members have something to do in launch(). Else no member attends.
  virtual bool is_launched_by_members() const { return false; }
  // After complete(), once each, by the member that called it and by those that attend, whatever
  // the others do meanwhile. Puts on the devices what complete() did not.
  virtual void launch(std::size_t member) { static_cast<void>(member); }
  // After complete(), by the member: what its backend does next finds the result filled, and its
  // memory is its own again. Errors: where its part could not be launched, an error with the words
  // and the exit status of what was thrown there.
  virtual void take(std::size_t member) = 0;
  // Before complete(), by a member that will not take(): it may free its memory; the peers are not
  // affected. Where it throws (no memory for what is left behind) there must be no complete().
  virtual void abandon(std::size_t member) = 0;
};

// Memory is opaque: `num_elements` elements of dtype(), row-major and dense, which only the backend
// that allocated it reads and writes. Work is done in the order of the calls, but may still be
// under way when a call returns; what is on its way is seen by later calls alone. Arithmetic is in
// float32 (sums and products accumulate in it, nothing narrower), rounded once when stored. Unless
// said otherwise outputs must not overlap inputs, and the sizes are the caller's responsibility
// (functions.cpp checks shapes before it calls).
class Backend {
 public:
  explicit Backend(DType dtype) : dtype_(dtype) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  DType dtype() const { return dtype_; }
  std::int64_t num_bytes(std::int64_t num_elements) const {
    return num_elements * static_cast<std::int64_t>(size_of(dtype_));
  }

  // Fresh uninitialised memory; owned by the caller until deallocate with the same size. Errors:
  // UnavailableError when a device has none left, with what was asked for and what is free.
  virtual std::byte* allocate(std::int64_t num_elements) = 0;
  virtual void deallocate(std::byte* data, std::int64_t num_elements) noexcept = 0;

  // c[m,n] = op(a)[m,k] op(b)[k,n], where op transposes if asked (a is then [k,m], b [n,k]).
  virtual void matmul(const std::byte* a, bool transpose_a, const std::byte* b, bool transpose_b,
                      std::byte* c, std::int64_t m, std::int64_t n, std::int64_t k) = 0;
  // c = alpha * a + beta * b; c may be a or b.
  virtual void add(float alpha, const std::byte* a, float beta, const std::byte* b, std::byte* c,
                   std::int64_t num_elements) = 0;
  // c = alpha * a; c may be a.
  virtual void scale(float alpha, const std::byte* a, std::byte* c, std::int64_t num_elements) = 0;
  // c = alpha * a * b, element by element; c may be a or b.
  virtual void multiply(float alpha, const std::byte* a, const std::byte* b, std::byte* c,
                        std::int64_t num_elements) = 0;
  virtual void fill(float value, std::byte* c, std::int64_t num_elements) = 0;
  // c = a, counted as copied.
  virtual void copy(const std::byte* a, std::byte* c, std::int64_t num_elements) = 0;
  // The single element c = (sum of a) / divisor.
  virtual void sum(const std::byte* a, float divisor, std::byte* c, std::int64_t num_elements) = 0;
  // Every element of c = (the single element a) / divisor.
  virtual void spread(const std::byte* a, float divisor, std::byte* c,
                      std::int64_t num_elements) = 0;
  // c[rows,cols] = columns [first, first + cols) of a[rows,a_cols].
  virtual void slice_columns(const std::byte* a, std::int64_t a_cols, std::int64_t first,
                             std::byte* c, std::int64_t rows, std::int64_t cols) = 0;
  // columns [first, first + cols) of c[rows,c_cols] = a[rows,cols].
  virtual void place_columns(const std::byte* a, std::int64_t cols, std::byte* c,
                             std::int64_t c_cols, std::int64_t first, std::int64_t rows) = 0;

  // To and from host memory; both complete on return. Values are rounded to the type, or widened
  // from it.
  virtual void upload(std::span<const float> host, std::byte* device) = 0;
  virtual void download(const std::byte* device, std::span<float> host) = 0;

  // A copy of `a` as it is now, in the order of this backend's work; not counted as copied.
  virtual std::unique_ptr<Parcel> pack(const std::byte* a, std::int64_t num_elements) = 0;
  // The same, but the copy is made beside this backend's further work, and what the backend does
  // after finish_pack() finds it made; until then `a` must stay as it is. The CPU makes it in
  // finish_pack(), as a message is copied when its receiver fetches it; a device on a stream of its
  // own, once what came before start_pack() is done.
  virtual std::unique_ptr<Parcel> start_pack(const std::byte* a, std::int64_t num_elements) = 0;
  virtual void finish_pack(Parcel& parcel) = 0;
  // c = the parcel's values, of which there must be as many.
  virtual void unpack(Parcel& parcel, std::byte* c, std::int64_t num_elements) = 0;
  // For a collective in which this backend's rank is a member.
  virtual std::unique_ptr<Exchange> make_exchange(std::size_t num_members) = 0;

  const MemoryCounters& counters() const { return counters_; }

 protected:
  void count_allocation(std::int64_t bytes) {
    counters_.live_bytes += bytes;
    if (counters_.live_bytes > counters_.peak_bytes) counters_.peak_bytes = counters_.live_bytes;
  }
  MemoryCounters counters_;

 private:
  DType dtype_;
};

}  // namespace culprit
