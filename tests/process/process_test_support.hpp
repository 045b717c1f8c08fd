// Shared by the process tests: one shell line as a request, and watching for a process to die.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "process/process_runner.hpp"

namespace culprit {

using std::chrono::milliseconds;

inline ProcessRequest shell(const std::string& line) {
  ProcessRequest request;
  request.argv = {"/bin/sh", "-c", line};
  request.deadline = milliseconds(30'000);  // a broken test fails, it does not hang
  return request;
}

// True once no such process is alive (a zombie counts as dead), false when it is still there after
// 5 s.
inline bool dies(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    const auto at = text.rfind(')');
    if (at != std::string::npos && at + 2 < text.size() &&
        (text[at + 2] == 'Z' || text[at + 2] == 'X'))
      return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

inline pid_t pid_in(const std::string& text) {
  return static_cast<pid_t>(std::strtol(text.c_str(), nullptr, 10));
}

// A fresh folder, removed with its content at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "culprit-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline std::string wait_for_file(const std::string& path) {
  for (int i = 0; i < 1000; ++i) {
    std::ifstream file(path);
    std::string line;
    if (std::getline(file, line) && !file.eof()) return line;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return "";
}

}  // namespace culprit
