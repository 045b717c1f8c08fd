// Ranks' CPU memory through MPI: messages alone, never a call that waits.
//
// MPI moves a message that is no small one only while both ends call it, and a rank that waits at
// the coordinator calls nothing. So a thread of this class looks after what has been sent.
#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "multiprocess/data_path.hpp"

namespace culprit::mpi {

// Errors: SetupError with MPI's own words.
void check(int result, const char* call);

// A collective is made of messages: each member sends its part to every other as soon as it starts,
// and adds up all parts in member order when it takes the result. So sums are the same to the bit
// as those of ranks that are threads, in two-byte types too, for which MPI has no sum. Cost: each
// part crosses to every member; groups here are small.
class MpiPath final : public DataPath {
 public:
  // Errors: SetupError where this MPI has too few tags.
  explicit MpiPath(MPI_Comm comm);
  ~MpiPath() override;

  std::string token(const std::vector<int>&) override { return {}; }
  int largest_tag() const override { return largest_tag_; }
  std::shared_ptr<PathPart> start(Backend& backend, const std::vector<int>& members, std::size_t me,
                                  int tag, const CollectiveCall& collective) override;
  std::shared_ptr<PathPart> send(Backend& backend, int me, int to, int tag,
                                 std::shared_ptr<Parcel> parcel,
                                 std::int64_t num_elements) override;
  std::shared_ptr<PathPart> receive(Backend& backend, int me, int from, int tag, std::byte* data,
                                    std::int64_t num_elements) override;
  void drop(Backend& backend, int from, int tag, std::int64_t num_elements) override;
  void abort() noexcept override { aborted_ = true; }
  std::vector<std::int64_t> sent(int num_processes) override;
  void close(const std::vector<std::int64_t>& sent_to_me) override;

  bool is_aborted() const { return aborted_; }

  using Bytes = std::shared_ptr<std::vector<std::byte>>;
  // `bytes` are kept until MPI is done with them.
  void post(Bytes bytes, int to, int tag);
  // Waits for as many bytes. Errors: PathAborted.
  void fetch(std::byte* data, std::size_t num_bytes, int from, int tag);
  // As many bytes, or what the sender takes for as many, are never fetched: they are dropped before
  // what follows them.
  void skip(std::size_t num_bytes, int from, int tag);

 private:
  bool drop_one(int from, int tag);  // whether a message was there; errors: PathAborted
  struct Pending {
    MPI_Request request = MPI_REQUEST_NULL;
    Bytes bytes;
  };
  void finish_receive(MPI_Request request);  // Errors: PathAborted
  void let_go_of_sent();                     // those that are done; with calls_ held
  void look_after_sent(const std::stop_token& stop);
  // Errors: PathAborted; what MPI told the thread that looks after what was sent.
  void require_going_on() const;

  MPI_Comm comm_;
  int largest_tag_;
  std::mutex calls_;  // over every call of MPI, and what follows
  std::condition_variable_any changed_;
  std::deque<Pending> pending_;
  std::optional<Trouble> broken_;
  // Messages to be dropped, by sender and tag, since the last close.
  std::map<std::pair<int, int>, std::size_t> skipped_;
  std::vector<std::int64_t> sent_, received_;  // messages since the last close, by process
  std::atomic<bool> aborted_{false};
  std::jthread sent_thread_;
};

}  // namespace culprit::mpi
