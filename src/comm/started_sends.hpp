// Sends that a rank has started and that are not under way yet.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "comm/communicator.hpp"

namespace culprit {

// Of one rank, used by its thread alone. Messages leave in the order in which they were started, at
// the latest when the rank waits for anything: else it could wait for what depends on them.
class StartedSends {
 public:
  // `leave` sends the message. The result, whose wait sees it leave, must not outlive this object.
  std::unique_ptr<Work> start(std::function<void()> leave);
  // All of them leave.
  void flush();

 private:
  class Started;
  void flush_to(std::shared_ptr<std::function<void()>> last);

  std::deque<std::shared_ptr<std::function<void()>>> waiting_;
};

}  // namespace culprit
