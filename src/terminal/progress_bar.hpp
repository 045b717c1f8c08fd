// One line that shows how far a run is, redrawn in place, on a terminal only; elsewhere it writes
// nothing. The one part outside app/ that writes: the app decides whether and where there is one.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace culprit {

class ProgressBar {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Options {
    std::chrono::milliseconds interval{100};  // between two drawings at least
    std::function<Time()> now = std::chrono::steady_clock::now;
  };

  // Draws on fd (not owned) when that is a terminal and TERM is not "dumb". total 0: not known.
  ProgressBar(int fd, std::size_t total, std::string label);
  ProgressBar(int fd, std::size_t total, std::string label, Options options);
  // Clears the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Cheap when called too often. `note` is any text: it is escaped and cut to the width.
  void update(std::size_t done, std::string_view note = {});
  void set_total(std::size_t total) { total_ = total; }
  // Removes the line, for other output; the next update draws it again.
  void clear();

 private:
  std::string line(std::size_t done, std::string_view note, int columns) const;

  int fd_;
  std::size_t total_;
  std::string label_;
  Options options_;
  bool is_enabled_;
  bool is_drawn_ = false;
  bool has_drawn_ = false;
  Time last_drawn_{};
};

}  // namespace culprit
