// `culprit check`: one trial as an exit status for `git bisect run`.
#pragma once

#include <memory>

namespace CLI {
class App;
}

namespace culprit {

class CheckCommand {
 public:
  explicit CheckCommand(CLI::App& app);
  ~CheckCommand();
  // After parsing. Returns 0 passes, 1 fails with the fingerprint, 125 can't tell; nothing else,
  // also for a target that can't be used. Throws nothing.
  int run() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What `git bisect run` takes for "skip this commit".
inline constexpr int kExitCannotTell = 125;

}  // namespace culprit
