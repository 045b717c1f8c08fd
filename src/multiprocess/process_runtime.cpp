#include "multiprocess/process_runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/exit_status.hpp"
#include "multiprocess/deadline.hpp"
#include "multiprocess/process_world.hpp"

namespace culprit {
namespace {

// For what the libraries do at their end. Longer than MPI's own deadline, whose words say more.
constexpr std::chrono::seconds kTearDown{15};

class ProcessRuntime final : public Runtime {
 public:
  ProcessRuntime(std::shared_ptr<void> owner, std::unique_ptr<JobLink> link,
                 std::unique_ptr<Device> device, DataPath& path)
      : owner_(std::move(owner)), device_(std::move(device)), path_(path), link_(std::move(link)) {}
  ~ProcessRuntime() override {
    std::optional<Trouble> ended;
    try {
      link_->require_going_on();
    } catch (const JobEndedError&) {
      ended = trouble_of(std::current_exception());
      path_.abort();  // one that ended between two worlds told no world
    }
    const int rank = link_->rank();
    link_ = nullptr;
    // The libraries' own ends may wait for processes that are gone, and nobody else looks any more.
    auto deadline = std::make_unique<Deadline>(ended ? kGrace : kTearDown, [ended, rank] {
      return ended.value_or(Trouble{
          kExitSetup,
          fmt::format("[job] rank {} has left the job, but its libraries (MPI, NCCL, CUDA) did not "
                      "come to their end within {} s",
                      rank, kTearDown.count())});
    });
    device_ = nullptr;
    owner_ = nullptr;
    // What they do when the process exits too, where something is known to be wrong.
    if (ended) [[maybe_unused]]
      static const Deadline* const to_the_end = deadline.release();
  }

  std::unique_ptr<Backend> make_backend(int world_rank, DType dtype) override {
    return device_->make_backend(world_rank, dtype);
  }
  std::unique_ptr<World> make_world(int size) override {
    if (size > link_->size())
      throw UsageError(
          fmt::format("the cell has {} ranks (tp x pp), but {} process{} started; "
                      "start {}",
                      size, link_->size(), link_->size() == 1 ? " was" : "es were", size));
    return std::make_unique<ProcessWorld>(*link_, path_, size);
  }
  ProcessGroup* processes() override { return link_.get(); }
  std::string description() const override {
    return fmt::format("{}, {} processes", device_->description(), link_->size());
  }

 private:
  std::shared_ptr<void> owner_;
  std::unique_ptr<Device> device_;
  DataPath& path_;
  std::unique_ptr<JobLink> link_;
};

}  // namespace

std::unique_ptr<Runtime> make_process_runtime(std::shared_ptr<void> owner,
                                              std::unique_ptr<JobLink> link,
                                              std::unique_ptr<Device> device, DataPath& path) {
  return std::make_unique<ProcessRuntime>(std::move(owner), std::move(link), std::move(device),
                                          path);
}

std::unique_ptr<JobLink> meet_at_address(const LaunchEnvironment& environment,
                                         std::chrono::milliseconds meeting_deadline,
                                         std::chrono::milliseconds stall_deadline) {
  std::optional<Listener> listener;
  // On every interface, as MASTER_ADDR may name another of this machine than the others use; but
  // never beyond this machine where it says so.
  const bool is_loopback = *environment.address == "localhost" ||
                           environment.address->starts_with("127.") ||
                           *environment.address == "::1";
  if (environment.rank == 0)
    listener.emplace(is_loopback ? *environment.address : "", environment.port);
  return std::make_unique<JobLink>(JobSettings{.rank = environment.rank,
                                               .size = environment.size,
                                               .address = *environment.address,
                                               .port = environment.port,
                                               .key = "culprit " + environment.run_id,
                                               .meeting_deadline = meeting_deadline,
                                               .stall_deadline = stall_deadline},
                                   std::move(listener));
}

void require_gpus(ProcessGroup& processes, const std::string& lacks) {
  const std::vector<std::string> all = processes.gather(lacks);
  const auto first =
      std::find_if(all.begin(), all.end(), [](const auto& why) { return !why.empty(); });
  std::string words;
  if (first != all.end()) {
    const auto found = std::count(all.begin(), all.end(), "");
    words = fmt::format("{0} NCCL ranks need {0} GPUs, {1} found", all.size(), found);
    if (found > 0) words += fmt::format("; --comm local runs {} ranks on one GPU", all.size());
    words += fmt::format(" (rank {}: {})", first - all.begin(), *first);
  }
  words = processes.broadcast(words);
  if (!words.empty()) throw UnavailableError(words);
}

}  // namespace culprit
