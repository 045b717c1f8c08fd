// Stage entry: writes a run's files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/run_record.hpp"

namespace culprit {

// The run's folder. Cells are appended to cells.jsonl as they finish, so a killed run keeps what it has.
class RunFolder {
 public:
  // Makes the folder with its parents; an empty path is make_default_run_folder(). Errors: UsageError when it exists;
  // SetupError when it can't be made.
  explicit RunFolder(const std::filesystem::path& path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Errors: SetupError.
  void append_cell(const std::string& json_line);
  // The folder for traces within it; made when first asked for. Errors: SetupError.
  std::filesystem::path traces() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int cells_fd_ = -1;
};

// Writes the record (run.json), every report and the asked-for tracker forms (issue_form.hpp) into an existing folder,
// each file whole or not at all (docs/schemas.md). The record's texts are to be masked before (redact.hpp). Errors:
// UsageError for an unknown form; SetupError.
void write_reports(const std::filesystem::path& folder, const RunRecord& record, const std::vector<std::string>& forms);

// Only the record (run.json), from which `culprit report` writes the rest: before work that takes long. Errors: SetupError.
void write_record(const std::filesystem::path& folder, const RunRecord& record);

// Makes "repro-out/2026-11-30T06-12-45", with a number behind it where that exists: runs that begin in the same second have
// a folder each. Errors: SetupError when it can't be made.
std::filesystem::path make_default_run_folder();

}  // namespace culprit
