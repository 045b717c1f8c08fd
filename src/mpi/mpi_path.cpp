#include "mpi/mpi_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "multiprocess/awake_time.hpp"
#include "multiprocess/tags.hpp"
#include "tensor/sum_in_order.hpp"

namespace culprit::mpi {
namespace {

// One message's most bytes; what is longer goes in several.
constexpr std::size_t kPiece = std::size_t{1} << 30;
// How often a wait looks before it lets others run: ranks may be more than cores.
constexpr int kLooksBeforeYield = 200;
// How often the thread looks after messages that are under way.
constexpr std::chrono::microseconds kSentPause{100};
constexpr std::chrono::seconds kCloseDeadline{60};

class Looking {
 public:
  void again() {
    if (++looks_ > kLooksBeforeYield) std::this_thread::yield();
  }

 private:
  int looks_ = 0;
};

class MpiCollective final : public PathPart {
 public:
  MpiCollective(MpiPath& path, Backend& backend, const std::vector<int>& members, std::size_t me,
                int tag, const CollectiveCall& collective)
      : path_(path),
        members_(members),
        me_(me),
        tag_(tag),
        collective_(collective),
        dtype_(backend.dtype()),
        num_bytes_(static_cast<std::size_t>(backend.num_bytes(collective.num_elements))),
        mine_(std::make_shared<std::vector<std::byte>>(collective.mine,
                                                       collective.mine + num_bytes_)) {
    for (std::size_t member = 0; member < members_.size(); ++member)
      if (member != me_) path_.post(mine_, members_[member], tag_);
  }
  void launch(const std::string&, bool) override {}
  void take() override {
    std::vector<std::vector<std::byte>> others(members_.size());
    std::vector<const std::byte*> parts;
    for (std::size_t member = 0; member < members_.size(); ++member) {
      if (member != me_) {
        others[member].resize(num_bytes_);
        path_.fetch(others[member].data(), num_bytes_, members_[member], tag_);
      }
      parts.push_back(member == me_ ? mine_->data() : others[member].data());
    }
    if (collective_.kind == ExchangeKind::kSum)
      sum_in_order(dtype_, parts, collective_.result, collective_.num_elements);
    else
      for (std::size_t member = 0; member < parts.size(); ++member)
        std::copy_n(parts[member], num_bytes_, collective_.result + member * num_bytes_);
  }
  // The others' parts come all the same. They are dropped before those of a later call with this
  // tag, or when the world ends.
  void abandon() override {
    for (std::size_t member = 0; member < members_.size(); ++member)
      if (member != me_) path_.skip(num_bytes_, members_[member], tag_);
  }

 private:
  MpiPath& path_;
  std::vector<int> members_;
  std::size_t me_;
  int tag_;
  CollectiveCall collective_;
  DType dtype_;
  std::size_t num_bytes_;
  MpiPath::Bytes mine_;
};

class MpiSend final : public PathPart {
 public:
  void launch(const std::string&, bool) override {}
  void take() override {}
  void abandon() override {}
};

class MpiReceive final : public PathPart {
 public:
  MpiReceive(MpiPath& path, std::byte* data, std::size_t num_bytes, int from, int tag)
      : path_(path), data_(data), num_bytes_(num_bytes), from_(from), tag_(tag) {}
  void launch(const std::string&, bool) override {}
  void take() override { path_.fetch(data_, num_bytes_, from_, tag_); }
  void abandon() override {}

 private:
  MpiPath& path_;
  std::byte* data_;
  std::size_t num_bytes_;
  int from_, tag_;
};

}  // namespace

void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> words{};
  int length = 0;
  MPI_Error_string(result, words.data(), &length);
  throw SetupError(fmt::format("[mpi] {}: {}", call, words.data()));
}

namespace {

int largest_tag() {
  const int* largest = nullptr;
  int is_set = 0;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &is_set),
        "MPI_Comm_get_attr");
  if (!is_set || *largest < Tags::kLeast)
    throw SetupError(fmt::format(
        "[mpi] this MPI's messages have tags up to {}, ranks need them up to {}; choose another of "
        "its transports (Open MPI: OMPI_MCA_pml=ob1)",
        is_set ? *largest : 0, Tags::kLeast));
  return *largest;
}

}  // namespace

MpiPath::MpiPath(MPI_Comm comm)
    : comm_(comm),
      largest_tag_(mpi::largest_tag()),
      sent_thread_([this](const std::stop_token& stop) { look_after_sent(stop); }) {}

MpiPath::~MpiPath() {
  sent_thread_ = {};
  // None are left but where close() failed: nobody will receive them.
  for (Pending& pending : pending_) {
    MPI_Cancel(&pending.request);
    MPI_Request_free(&pending.request);
  }
}

std::shared_ptr<PathPart> MpiPath::start(Backend& backend, const std::vector<int>& members,
                                         std::size_t me, int tag,
                                         const CollectiveCall& collective) {
  return std::make_shared<MpiCollective>(*this, backend, members, me, tag, collective);
}
std::shared_ptr<PathPart> MpiPath::send(Backend& backend, int, int to, int tag,
                                        std::shared_ptr<Parcel> parcel, std::int64_t num_elements) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(
      static_cast<std::size_t>(backend.num_bytes(num_elements)));
  backend.unpack(*parcel, bytes->data(), num_elements);
  post(bytes, to, tag);
  return std::make_shared<MpiSend>();
}
std::shared_ptr<PathPart> MpiPath::receive(Backend& backend, int, int from, int tag,
                                           std::byte* data, std::int64_t num_elements) {
  return std::make_shared<MpiReceive>(
      *this, data, static_cast<std::size_t>(backend.num_bytes(num_elements)), from, tag);
}

// It was sent without a launch.
void MpiPath::drop(Backend& backend, int from, int tag, std::int64_t num_elements) {
  skip(static_cast<std::size_t>(backend.num_bytes(num_elements)), from, tag);
}

std::vector<std::int64_t> MpiPath::sent(int num_processes) {
  sent_.resize(static_cast<std::size_t>(num_processes));
  return std::exchange(sent_, {});
}

void MpiPath::close(const std::vector<std::int64_t>& sent_to_me) {
  received_.resize(sent_to_me.size());
  Looking looking;
  // Whoever sent them has ended this world too, so it looks after them: they come, or never will.
  AwakeTime waited;
  const auto require_in_time = [&](const char* what) {
    if (waited.passed() > kCloseDeadline)
      throw SetupError(fmt::format("[mpi] {} within {} s after the end of a world", what,
                                   kCloseDeadline.count()));
  };
  // No more than that of each: a process may be in the next world already. Its messages come in
  // order, so what is probed for first was sent first.
  for (std::size_t from = 0; from < sent_to_me.size(); ++from)
    while (received_[from] < sent_to_me[from]) {
      if (drop_one(static_cast<int>(from), MPI_ANY_TAG)) continue;
      require_in_time("what another rank sent did not come");
      looking.again();
    }
  received_.clear();
  skipped_.clear();
  while (true) {
    {
      const std::lock_guard lock(calls_);
      require_going_on();
      let_go_of_sent();
      if (pending_.empty()) return;
    }
    require_in_time("what was sent was not received");
    looking.again();
  }
}

bool MpiPath::drop_one(int from, int tag) {
  std::unique_lock lock(calls_);
  require_going_on();
  int is_there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(MPI_Improbe(from, tag, comm_, &is_there, &message, &status), "MPI_Improbe");
  if (!is_there) return false;
  int num_bytes = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &num_bytes), "MPI_Get_count");
  std::vector<std::byte> dropped(static_cast<std::size_t>(num_bytes));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Imrecv(dropped.data(), num_bytes, MPI_BYTE, &message, &request), "MPI_Imrecv");
  lock.unlock();
  finish_receive(request);
  ++received_[from];
  return true;
}

void MpiPath::skip(std::size_t num_bytes, int from, int tag) {
  skipped_[{from, tag}] += std::max<std::size_t>(1, (num_bytes + kPiece - 1) / kPiece);
}

void MpiPath::post(Bytes bytes, int to, int tag) {
  const std::lock_guard lock(calls_);
  require_going_on();
  let_go_of_sent();
  sent_.resize(std::max(sent_.size(), static_cast<std::size_t>(to) + 1));
  std::size_t first = 0;
  do {
    const std::size_t length = std::min(kPiece, bytes->size() - first);
    Pending pending{.request = MPI_REQUEST_NULL, .bytes = bytes};
    check(MPI_Isend(bytes->data() + first, static_cast<int>(length), MPI_BYTE, to, tag, comm_,
                    &pending.request),
          "MPI_Isend");
    pending_.push_back(std::move(pending));
    ++sent_[to];
    first += length;
  } while (first < bytes->size());
  let_go_of_sent();  // a small one is
  if (!pending_.empty()) changed_.notify_one();
}

void MpiPath::fetch(std::byte* data, std::size_t num_bytes, int from, int tag) {
  received_.resize(std::max(received_.size(), static_cast<std::size_t>(from) + 1));
  if (const auto skipped = skipped_.extract({from, tag})) {
    Looking looking;
    for (std::size_t left = skipped.mapped(); left > 0;)
      if (drop_one(from, tag))
        --left;
      else
        looking.again();
  }
  std::size_t first = 0;
  do {
    const std::size_t length = std::min(kPiece, num_bytes - first);
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const std::lock_guard lock(calls_);
      check(MPI_Irecv(data + first, static_cast<int>(length), MPI_BYTE, from, tag, comm_, &request),
            "MPI_Irecv");
    }
    finish_receive(request);
    ++received_[from];
    first += length;
  } while (first < num_bytes);
}

void MpiPath::finish_receive(MPI_Request request) {
  Looking looking;
  while (true) {
    {
      const std::lock_guard lock(calls_);
      // Asked once: abort() may come from another thread, and the request must not outlive this.
      if (const bool is_over = aborted_ || broken_; is_over) {
        MPI_Cancel(&request);
        MPI_Request_free(&request);
        require_going_on();
      }
      int is_done = 0;
      check(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
      if (is_done) return;
    }
    looking.again();
  }
}

void MpiPath::let_go_of_sent() {
  int worst = MPI_SUCCESS;
  std::erase_if(pending_, [&](Pending& pending) {
    int is_done = 0;
    const int result = MPI_Test(&pending.request, &is_done, MPI_STATUS_IGNORE);
    if (result != MPI_SUCCESS) worst = result;
    return is_done != 0;
  });
  check(worst, "MPI_Test");
}

void MpiPath::look_after_sent(const std::stop_token& stop) {
  std::unique_lock lock(calls_);
  const auto is_needed = [&] { return !pending_.empty() && !aborted_ && !broken_; };
  while (changed_.wait(lock, stop, is_needed) && !stop.stop_requested()) {
    try {
      let_go_of_sent();
    } catch (const std::exception&) {
      broken_ = trouble_of(std::current_exception());
    }
    lock.unlock();
    std::this_thread::sleep_for(kSentPause);
    lock.lock();
  }
}

void MpiPath::require_going_on() const {
  if (aborted_) throw PathAborted();
  if (broken_) broken_->raise();
}

}  // namespace culprit::mpi
