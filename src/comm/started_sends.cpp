#include "comm/started_sends.hpp"

#include <algorithm>
#include <utility>

namespace culprit {

class StartedSends::Started final : public Work {
 public:
  Started(StartedSends& sends, std::shared_ptr<std::function<void()>> leave)
      : sends_(sends), leave_(std::move(leave)) {}
  ~Started() override {
    try {
      sends_.flush_to(leave_);
    } catch (const std::exception&) {
      // The job has ended; the rank is told where it next waits.
    }
  }
  void wait() override { sends_.flush_to(leave_); }

 private:
  StartedSends& sends_;
  std::shared_ptr<std::function<void()>> leave_;
};

std::unique_ptr<Work> StartedSends::start(std::function<void()> leave) {
  waiting_.push_back(std::make_shared<std::function<void()>>(std::move(leave)));
  return std::make_unique<Started>(*this, waiting_.back());
}

void StartedSends::flush() {
  if (!waiting_.empty()) flush_to(waiting_.back());
}

// By value: the queue's own is taken out of it.
void StartedSends::flush_to(std::shared_ptr<std::function<void()>> last) {
  if (std::find(waiting_.begin(), waiting_.end(), last) == waiting_.end()) return;
  for (bool is_last = false; !is_last;) {
    const auto leave = std::move(waiting_.front());
    waiting_.pop_front();
    is_last = leave == last;
    (*leave)();
  }
}

}  // namespace culprit
