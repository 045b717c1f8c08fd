#include "process/capture.hpp"

#include <algorithm>

namespace culprit {

std::string CapturedText::text() const {
  if (dropped_bytes == 0) return head + tail;
  std::string all = head;
  if (!all.empty() && all.back() != '\n') all += '\n';
  all += "[... " + std::to_string(dropped_bytes) + " bytes dropped ...]\n";
  return all + tail;
}

Capture::Capture(std::size_t limit_bytes)
    : head_limit_(limit_bytes - limit_bytes / 2), tail_limit_(limit_bytes / 2) {}

void Capture::append(std::string_view bytes) {
  const std::size_t to_head = std::min(bytes.size(), head_limit_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  bytes.remove_prefix(to_head);
  if (bytes.size() > tail_limit_) {
    dropped_bytes_ += tail_.size() + bytes.size() - tail_limit_;
    tail_.assign(bytes.substr(bytes.size() - tail_limit_));
    return;
  }
  tail_.append(bytes);
  if (tail_.size() > 2 * tail_limit_) {
    dropped_bytes_ += tail_.size() - tail_limit_;
    tail_.erase(0, tail_.size() - tail_limit_);
  }
}

CapturedText Capture::take() {
  if (tail_.size() > tail_limit_) {
    dropped_bytes_ += tail_.size() - tail_limit_;
    tail_.erase(0, tail_.size() - tail_limit_);
  }
  return {std::move(head_), std::move(tail_), dropped_bytes_};
}

}  // namespace culprit
