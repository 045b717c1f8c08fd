// A runtime whose ranks are processes.
#pragma once

#include <chrono>
#include <memory>

#include "comm/runtime.hpp"
#include "multiprocess/data_path.hpp"
#include "multiprocess/job_link.hpp"
#include "multiprocess/launch_environment.hpp"

namespace culprit {

// `path` moves the memory of `device` and is part of it or of `owner`, which goes last.
std::unique_ptr<Runtime> make_process_runtime(std::shared_ptr<void> owner,
                                              std::unique_ptr<JobLink> link,
                                              std::unique_ptr<Device> device, DataPath& path);

// The processes meet at the address that the launcher's variables give. Errors: SetupError,
// UsageError.
std::unique_ptr<JobLink> meet_at_address(const LaunchEnvironment& environment,
                                         std::chrono::milliseconds meeting_deadline,
                                         std::chrono::milliseconds stall_deadline);

// Every process tells the others why it has no GPU (empty: it has one). Errors: UnavailableError on
// each of them, with what the job asked for, what was found, and the words of the first without.
void require_gpus(ProcessGroup& processes, const std::string& lacks);

}  // namespace culprit
