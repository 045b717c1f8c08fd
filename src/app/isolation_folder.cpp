#include "app/isolation_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "process/standard_streams.hpp"
#include "process/unique_fd.hpp"
#include "process/write_all.hpp"
#include "report/write_report.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace fs = std::filesystem;
namespace {

constexpr const char* kJournal = "journal.jsonl";

// True when it was made here.
bool make_folder(const fs::path& path, bool may_exist) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_directory(status))
    throw UsageError(fmt::format("{}: is no folder", path.string()));
  if (fs::exists(fs::symlink_status(path, error)) && !may_exist)
    throw UsageError(fmt::format(
        "{}: exists already; a run never overwrites: choose another --out, or go on in it "
        "with --resume",
        path.string()));
  if (fs::exists(status)) {
    if (!fs::exists(path / kJournal, error) && !fs::is_empty(path, error))
      throw UsageError(
          fmt::format("{}: holds no {}, so it is not of an isolation", path.string(), kJournal));
    return false;
  }
  fs::create_directories(path, error);
  if (error) throw SetupError(fmt::format("{}: can't be made: {}", path.string(), error.message()));
  return true;
}

}  // namespace

IsolationFolder::IsolationFolder(const fs::path& path, bool may_exist, const CommandTarget& target,
                                 const std::string& origin)
    : path_(path.empty() ? make_default_run_folder() : path),
      is_new_(path.empty() || make_folder(path, may_exist)),
      journal_(Journal::resume((path_ / kJournal).string(),
                               {target.trial_space(), target.description()}, origin)) {
  std::error_code error;
  if (target.has_dump() && !fs::create_directory(work_path(), error) && error)
    throw SetupError(fmt::format("{}: can't be made: {}", work_path().string(), error.message()));
}

void IsolationFolder::discard_if_unused() {
  if (!is_new_ || !journal_.records().empty()) return;
  std::error_code ignored;
  fs::remove_all(work_path(), ignored);
  fs::remove(path_ / kJournal, ignored);
  fs::remove(path_, ignored);  // stays when it holds anything else
}

void merge_into_folder(const std::vector<std::string>& journals, const std::string& out) {
  std::vector<std::string> paths;
  for (const std::string& each : journals)
    paths.push_back(fs::is_directory(each) ? (fs::path(each) / kJournal).string() : each);
  make_folder(out, /*may_exist=*/false);
  try {
    for (const std::string& notice : merge_journals(paths, (fs::path(out) / kJournal).string()))
      print_error(fmt::format("culprit: {}\n", escape_controls(notice)));
  } catch (const Error&) {
    std::error_code ignored;
    fs::remove(out, ignored);
    throw;
  }
}

void write_new_file(const std::string& path, const std::string& text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0777));
  if (!fd && errno == EEXIST)
    throw UsageError(fmt::format("'{}' exists already and is not overwritten", path));
  if (!fd) throw SetupError(fmt::format("{}: can't be written: {}", path, std::strerror(errno)));
  if (!write_all(fd.get(), text))
    throw SetupError(fmt::format("{}: can't be written: {}", path, std::strerror(errno)));
}

}  // namespace culprit
