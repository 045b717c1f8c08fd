// `culprit run`: a scenario's matrix, its minimal failing combinations and the fixes for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/cell_flags.hpp"

namespace CLI {
class App;
}

namespace culprit {

class RunCommand {
 public:
  explicit RunCommand(CLI::App& app);
  ~RunCommand();
  // After parsing. `command` is what the user typed. Returns the exit status. Errors: Error.
  int run(const std::vector<std::string>& command) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace culprit
