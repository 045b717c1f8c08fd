// `culprit repro`: the stand-alone reproductions of one cell, built and run before they are
// offered.
#pragma once

#include <memory>

#include "app/cell_flags.hpp"

namespace CLI {
class App;
}

namespace culprit {

class ReproCommand {
 public:
  explicit ReproCommand(CLI::App& app);
  ~ReproCommand();
  // After parsing. Returns the exit status. Errors: Error.
  int run() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace culprit
