// `culprit isolate`: every minimal failing combination of a target's switches, with certificates,
// sizes and fixes.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace culprit {

class IsolateCommand {
 public:
  explicit IsolateCommand(CLI::App& app);
  ~IsolateCommand();
  // After parsing. `command` is what the user typed. Returns the exit status. Errors: Error.
  int run(const std::vector<std::string>& command) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace culprit
