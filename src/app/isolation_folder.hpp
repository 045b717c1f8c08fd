// The folder of an isolation: journal.jsonl while it runs, reports at its end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "target/command_target.hpp"
#include "target/journal.hpp"

namespace culprit {

class IsolationFolder {
 public:
  // Makes the folder (an empty path: make_default_run_folder()) and its journal; with `may_exist`
  // goes on with those that are there. Errors: UsageError when it exists (without `may_exist`), is
  // no folder, or its journal is of another search; SetupError when it can't be made.
  IsolationFolder(const std::filesystem::path& path, bool may_exist, const CommandTarget& target,
                  const std::string& origin);

  const std::filesystem::path& path() const { return path_; }
  Journal& journal() { return journal_; }
  // For dumps; exists where the target has one.
  std::filesystem::path work_path() const { return path_ / "work"; }
  // Takes away what was made, when this object made the folder and no trial has finished: a target
  // that was refused leaves nothing.
  void discard_if_unused();

 private:
  std::filesystem::path path_;
  bool is_new_;
  Journal journal_;
};

// The journals, given as files or as the folders that hold them, as the journal of a new folder
// `out`. Notices go to stderr. Errors: UsageError when `out` exists, a journal is damaged, or two
// are of different searches; then nothing is written.
void merge_into_folder(const std::vector<std::string>& journals, const std::string& out);

// Errors: UsageError when the file exists, SetupError when it can't be written.
void write_new_file(const std::string& path, const std::string& text);

}  // namespace culprit
