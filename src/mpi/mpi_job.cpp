#include "mpi/mpi_job.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/exit_status.hpp"
#include "mpi/mpi_path.hpp"
#include "multiprocess/deadline.hpp"

namespace culprit::mpi {
namespace {

constexpr std::chrono::seconds kMeetingDeadline{60}, kFinalizeDeadline{10};

// As the launcher says, where MPI itself can't yet: "rank 2", or "a process".
std::string who_waits() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) return fmt::format("rank {}", rank);
  return "a process";
}

class CallDeadline final : public Deadline {
 public:
  CallDeadline(const char* call, std::chrono::seconds time)
      : Deadline(time, [call, time] {
          return Trouble{kExitSetup,
                         fmt::format("[mpi] {} waits in {}, which has not returned within {} s: "
                                     "another process of the job has stopped, or is gone",
                                     who_waits(), call, time.count())};
        }) {}
};

class Job final : public MpiJob {
 public:
  Job() {
    const CallDeadline deadline("MPI_Init", kMeetingDeadline);
    int given = 0;
    // Calls come from one thread at a time, not always the same.
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given), "MPI_Init_thread");
    if (given < MPI_THREAD_SERIALIZED)
      throw UnavailableError("--comm mpi: this MPI takes calls from its first thread only");
    // Errors come back as results; what MPI would do itself is to end the process.
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
    MPI_Comm node = MPI_COMM_NULL;
    check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
          "MPI_Comm_split_type");
    check(MPI_Comm_rank(node, &local_rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(node, &node_size_), "MPI_Comm_size");
    check(MPI_Comm_free(&node), "MPI_Comm_free");
    path_ = std::make_unique<MpiPath>(comm_);
  }
  ~Job() override {
    // A process is gone: MPI would wait for it. Its launcher ends what is left of the job.
    if (path_->is_aborted()) return;
    path_ = nullptr;
    const CallDeadline deadline("MPI_Finalize", kFinalizeDeadline);
    MPI_Comm_free(&comm_);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  bool is_one_node() const override { return node_size_ == size_; }
  std::string broadcast(std::string from_rank_0) override {
    const CallDeadline deadline("MPI_Bcast", kMeetingDeadline);
    std::uint64_t length = from_rank_0.size();
    check(MPI_Bcast(&length, sizeof(length), MPI_BYTE, 0, comm_), "MPI_Bcast");
    from_rank_0.resize(length);
    check(MPI_Bcast(from_rank_0.data(), static_cast<int>(length), MPI_BYTE, 0, comm_), "MPI_Bcast");
    return from_rank_0;
  }
  DataPath& path() override { return *path_; }
  std::string description() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> words{};
    int length = 0;
    MPI_Get_library_version(words.data(), &length);
    const std::string text = words.data();
    return text.substr(0, text.find_first_of(",\n"));
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, local_rank_ = 0, node_size_ = 1;
  std::unique_ptr<MpiPath> path_;
};

}  // namespace
}  // namespace culprit::mpi

extern "C" __attribute__((visibility("default"))) culprit::MpiJob* culprit_open_mpi(
    std::exception_ptr* error) {
  try {
    return new culprit::mpi::Job();
  } catch (...) {
    *error = std::current_exception();
    return nullptr;
  }
}
