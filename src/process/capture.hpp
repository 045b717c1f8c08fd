// Keeps a bounded part of a stream of unknown length: its first and its last bytes, and how many
// were dropped between them. An error's cause stands at the head, its summary at the tail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace culprit {

// What was kept of one output stream. Bytes as the child wrote them, not checked for UTF-8.
struct CapturedText {
  std::string head;
  std::string tail;                 // follows head directly when nothing was dropped
  std::uint64_t dropped_bytes = 0;  // between head and tail

  std::uint64_t total_bytes() const { return head.size() + dropped_bytes + tail.size(); }
  // Everything that was kept; where bytes were dropped stands a line that says how many.
  std::string text() const;
};

class Capture {
 public:
  // Keeps at most `limit_bytes` bytes: the first half and the last half.
  explicit Capture(std::size_t limit_bytes);
  void append(std::string_view bytes);
  // Ends the capture and moves out what was kept.
  CapturedText take();

 private:
  std::size_t head_limit_;
  std::size_t tail_limit_;
  std::string head_;
  std::string tail_;  // up to twice tail_limit_, so that trimming is rare
  std::uint64_t dropped_bytes_ = 0;
};

}  // namespace culprit
