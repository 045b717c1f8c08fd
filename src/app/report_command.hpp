// The flags of a command that writes reports, and `culprit report`: a run's reports written once
// more.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "report/redact.hpp"
#include "report/write_report.hpp"

namespace CLI {
class App;
}

namespace culprit {

// --redact.
class RedactFlag {
 public:
  void add_to(CLI::App& app);
  // After parsing. With --redact=none it warns on stderr.
  Redactor redactor() const;

 private:
  std::string redact_ = "private";
};

// --redact and --form.
class ReportFlags {
 public:
  void add_to(CLI::App& app);
  // As RedactFlag.
  Redactor redactor() const { return redact_.redactor(); }
  // Masks the record and writes all reports. Errors: SetupError.
  void write(const std::filesystem::path& folder, const RunRecord& record,
             Redactor& redactor) const;
  // As write, but only what the reports can be made from again.
  void write_record(const std::filesystem::path& folder, const RunRecord& record,
                    Redactor& redactor) const;
  // What was written where, and what was masked, on stdout.
  void print_written(const std::filesystem::path& folder, const RunRecord& record,
                     const Redactor& redactor) const;

 private:
  RedactFlag redact_;
  std::vector<std::string> forms_;
};

class ReportCommand {
 public:
  explicit ReportCommand(CLI::App& app);
  ~ReportCommand();
  // After parsing. Returns the exit status. Errors: Error.
  int run() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace culprit
