#include "report/write_report.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/error.hpp"
#include "base/whole_file.hpp"
#include "report/json_report.hpp"
#include "report/markdown_report.hpp"

namespace culprit {
namespace fs = std::filesystem;
RunFolder::RunFolder(const fs::path& path) : path_(path) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(path, error)))
    throw UsageError(fmt::format("{}: exists already; a run never overwrites, choose another --out",
                                 path.string()));
  fs::create_directories(path, error);
  if (error) throw SetupError(fmt::format("{}: can't be made: {}", path.string(), error.message()));
  const fs::path cells = path / "cells.jsonl";
  cells_fd_ = ::open(cells.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (cells_fd_ < 0)
    throw SetupError(fmt::format("{}: can't be written: {}", cells.string(), std::strerror(errno)));
}

RunFolder::~RunFolder() { ::close(cells_fd_); }

void RunFolder::append_cell(const std::string& json_line) {
  const std::string line = json_line + "\n";
  // One write a line: a kill can cut the file only between lines, or inside the last one on a full
  // disk.
  if (::write(cells_fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw SetupError(fmt::format("{}: can't be written", (path_ / "cells.jsonl").string()));
}

fs::path RunFolder::traces() const {
  const fs::path folder = path_ / "traces";
  std::error_code error;
  fs::create_directory(folder, error);
  if (error)
    throw SetupError(fmt::format("{}: can't be made: {}", folder.string(), error.message()));
  return folder;
}

void RunFolder::write_report(const RunRecord& record) const {
  write_whole_file(path_ / "report.md", markdown_report(record));
  write_whole_file(path_ / "report.json", json_report(record));
  write_whole_file(path_ / "junit.xml", junit_report(record));
}

fs::path default_run_folder() {
  const fs::path base = fs::path("repro-out") /
                        fmt::format("{:%Y-%m-%dT%H-%M-%S}", fmt::localtime(std::time(nullptr)));
  fs::path path = base;
  for (int i = 2; fs::exists(path); ++i) path = base.string() + fmt::format("-{}", i);
  return path;
}

}  // namespace culprit
