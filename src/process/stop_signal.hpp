// Turns SIGINT, SIGTERM and SIGHUP into a flag, so that a stopped run writes what it has. The
// second such signal has its default action: a user who insists is obeyed (children die with their
// parent).
#pragma once

namespace culprit {

class StopSignal {
 public:
  // Installs the handlers; the destructor restores what was there. At most one object at a time
  // (std::logic_error). Throws SetupError when the system refuses. A signal that is ignored (nohup)
  // stays so.
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // The signal that came, 0 when none did. Any thread.
  int signal() const;
  bool is_stopped() const { return signal() != 0; }
  // Readable, and stays so, once a signal came: for poll and RunOptions::cancel_fd. Owned here.
  int fd() const;
};

}  // namespace culprit
