// `culprit diff`: which cells changed between two runs.
#pragma once

#include <memory>

namespace CLI {
class App;
}

namespace culprit {

class DiffCommand {
 public:
  explicit DiffCommand(CLI::App& app);
  ~DiffCommand();
  // After parsing. Returns the exit status. Errors: Error.
  int run() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace culprit
