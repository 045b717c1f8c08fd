#include "terminal/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "terminal/escape.hpp"
#include "terminal/terminal.hpp"

namespace culprit {
namespace {

constexpr int kBarColumns = 20;

// A progress bar that can't be written is no reason to fail.
void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

ProgressBar::ProgressBar(int fd, std::size_t total, std::string label)
    : ProgressBar(fd, total, std::move(label), Options{}) {}

ProgressBar::ProgressBar(int fd, std::size_t total, std::string label, Options options)
    : fd_(fd), total_(total), label_(escape_controls(label)), options_(std::move(options)) {
  const char* term = std::getenv("TERM");
  is_enabled_ = is_terminal(fd) && !(term && std::string_view(term) == "dumb");
}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::update(std::size_t done, std::string_view note) {
  if (!is_enabled_) return;
  const Time now = options_.now();
  if (has_drawn_ && now - last_drawn_ < options_.interval && done != total_) return;
  last_drawn_ = now;
  has_drawn_ = is_drawn_ = true;
  // The last column stays free: a terminal that wraps there would begin a second line.
  const int columns = std::max(terminal_columns(fd_) - 1, 0);
  std::string output(1, '\r');
  output.append(line(done, note, columns)).append("\x1b[K");
  write_all(fd_, output);
}

void ProgressBar::clear() {
  if (!is_drawn_) return;
  is_drawn_ = false;
  has_drawn_ = false;
  write_all(fd_, "\r\x1b[K");
}

std::string ProgressBar::line(std::size_t done, std::string_view note, int columns) const {
  std::string count = std::to_string(done);
  if (total_ > 0) count += '/' + std::to_string(total_);
  std::string text = label_;
  if (!text.empty()) text += ' ';
  text += count;
  // Narrow terminals lose the bar first, then the label, then everything but what fits of the
  // count.
  if (display_width(text) > columns) return cut_to_width(count, columns);
  if (total_ > 0 && display_width(text) + kBarColumns + 3 <= columns) {
    const std::size_t filled = kBarColumns * std::min(done, total_) / total_;
    text.append(" [").append(filled, '#').append(kBarColumns - filled, '.').append("]");
  }
  if (note.empty()) return text;
  const int rest = columns - display_width(text) - 2;
  return rest < 4 ? text : text + "  " + cut_to_width(escape_controls(note), rest);
}

}  // namespace culprit
