// From the words of --device and --comm to a runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/runtime.hpp"

namespace culprit {

// How a cell is run, as against what it is: none of it may change an outcome.
struct RuntimeChoice {
  std::string device = "cpu";  // cpu | cuda | cuda:INDEX
  // local: threads on one device; nccl: a GPU each, threads or, where a launcher started several
  // processes, one of them each; mpi: processes, CPU memory.
  std::string comm = "local";
  // Ranks that are processes: without any of them finishing an operation the job is a HANG.
  double stall_seconds = 60.0;

  bool is_default() const { return device == "cpu" && comm == "local"; }
  // The flags that ask for it; none for the default.
  std::vector<std::string> flags() const;
};

// Errors: UsageError for words that are not known; UnavailableError when this build or machine
// lacks what is asked for; SetupError when the job's processes do not meet.
//
// For processes, each of which calls it: it returns when all have come.
std::unique_ptr<Runtime> open_runtime(const RuntimeChoice& choice);

// For a program that is one process, whose runtime has its ranks as threads: `program` names it.
// Errors: UsageError when a launcher started it as one of several, which each would do all of it.
void require_one_process(const RuntimeChoice& choice, const std::string& program);

}  // namespace culprit
