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
#include "process/write_all.hpp"
#include "report/chrome_trace.hpp"
#include "report/ctrf_report.hpp"
#include "report/dot_report.hpp"
#include "report/html_report.hpp"
#include "report/issue_form.hpp"
#include "report/json_report.hpp"
#include "report/junit_report.hpp"
#include "report/markdown_report.hpp"
#include "report/run_file.hpp"
#include "report/svg_report.hpp"

namespace culprit {
namespace fs = std::filesystem;

namespace {

// False when something is there already. Errors: SetupError.
bool make_new_folder(const fs::path& path) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(path, error))) return false;
  error.clear();
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  // False without an error: another run made it in the meantime.
  const bool is_made = !error && fs::create_directory(path, error);
  if (error) throw SetupError(fmt::format("{}: can't be made: {}", path.string(), error.message()));
  return is_made;
}

}  // namespace

RunFolder::RunFolder(const fs::path& path)
    : path_(path.empty() ? make_default_run_folder() : path) {
  if (!path.empty() && !make_new_folder(path))
    throw UsageError(fmt::format("{}: exists already; a run never overwrites, choose another --out",
                                 path.string()));
  const fs::path cells = path_ / "cells.jsonl";
  cells_fd_ = ::open(cells.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (cells_fd_ < 0)
    throw SetupError(fmt::format("{}: can't be written: {}", cells.string(), std::strerror(errno)));
}

RunFolder::~RunFolder() { ::close(cells_fd_); }

void RunFolder::append_cell(const std::string& json_line) {
  const std::string line = json_line + "\n";
  // As a rule one write a line: a kill can cut the file only between lines, or inside the last one
  // on a full disk.
  if (!write_all(cells_fd_, line))
    throw SetupError(fmt::format("{}: can't be written: {}", (path_ / "cells.jsonl").string(),
                                 std::strerror(errno)));
}

fs::path RunFolder::traces() const {
  const fs::path folder = path_ / "traces";
  std::error_code error;
  fs::create_directory(folder, error);
  if (error)
    throw SetupError(fmt::format("{}: can't be made: {}", folder.string(), error.message()));
  return folder;
}

void write_record(const fs::path& folder, const RunRecord& record) {
  write_whole_file(folder / "run.json", run_file(record));
}

void write_reports(const fs::path& folder, const RunRecord& record,
                   const std::vector<std::string>& forms) {
  write_record(folder, record);
  write_whole_file(folder / "report.md", markdown_report(record));
  write_whole_file(folder / "report.html", html_report(record));
  write_whole_file(folder / "matrix.svg", svg_report(record));
  write_whole_file(folder / "report.json", json_report(record));
  write_whole_file(folder / "junit.xml", junit_report(record));
  write_whole_file(folder / "ctrf.json", ctrf_report(record));
  write_whole_file(folder / "trace.json", chrome_trace(record));
  write_whole_file(folder / "graph.dot", dot_report(record));
  for (const std::string& form : forms)
    write_whole_file(folder / fmt::format("form_{}.md", form), issue_form(record, form));
}

fs::path make_default_run_folder() {
  const fs::path base = fs::path("repro-out") /
                        fmt::format("{:%Y-%m-%dT%H-%M-%S}", fmt::localtime(std::time(nullptr)));
  fs::path path = base;
  for (int i = 2; !make_new_folder(path); ++i) path = base.string() + fmt::format("-{}", i);
  return path;
}

}  // namespace culprit
