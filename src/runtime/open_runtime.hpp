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
  std::string comm = "local";  // local: threads on one device; nccl: threads with a GPU each

  bool is_default() const { return device == "cpu" && comm == "local"; }
  // The flags that ask for it; none for the default.
  std::vector<std::string> flags() const;
};

// Errors: UsageError for words that are not known; UnavailableError when this build or machine
// lacks what is asked for.
std::unique_ptr<Runtime> open_runtime(const RuntimeChoice& choice);

}  // namespace culprit
