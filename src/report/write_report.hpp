// Stage entry: writes a run's files.
#pragma once

#include <filesystem>
#include <string>

#include "report/run_record.hpp"

namespace culprit {

// The run's folder. Cells are appended to cells.jsonl as they finish, so a killed run keeps what it
// has.
class RunFolder {
 public:
  // Makes the folder with its parents. Errors: UsageError when it exists; SetupError when it can't
  // be made.
  explicit RunFolder(const std::filesystem::path& path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Errors: SetupError.
  void append_cell(const std::string& json_line);
  // Writes report.md, report.json and junit.xml, each whole or not at all. Errors: SetupError.
  void write_report(const RunRecord& record) const;
  // The folder for traces within it; made when first asked for. Errors: SetupError.
  std::filesystem::path traces() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int cells_fd_ = -1;
};

// "repro-out/2026-11-30T06-12-45", and with a number behind it where that exists.
std::filesystem::path default_run_folder();

}  // namespace culprit
