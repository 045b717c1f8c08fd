#include "app/report_command.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>

#include "process/standard_streams.hpp"
#include "report/issue_form.hpp"
#include "report/run_file.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"

namespace culprit {

void ReportFlags::add_to(CLI::App& app) {
  app.add_option(
         "--form", forms_,
         "also write form_NAME.md: the answers under the fields of that tracker's issue form")
      ->type_name("NAME")
      ->check(CLI::IsMember(issue_form_names()));
  redact_.add_to(app);
}

void RedactFlag::add_to(CLI::App& app) {
  app.add_option(
         "--redact", redact_,
         "what is masked in the files: private (home folders, user and host names, addresses, "
         "credentials) or none")
      ->check(CLI::IsMember({"private", "none"}))
      ->capture_default_str();
}

Redactor RedactFlag::redactor() const {
  if (redact_ != "none") return Redactor::for_this_machine();
  print_error(fmt::format(
      "warning: --redact=none: folders, names, addresses and credentials stay in the files; "
      "read them before you share them\n"));
  return Redactor::off();
}

namespace {

RunRecord masked(const RunRecord& record, Redactor& redactor) {
  RunRecord result = redacted(record, redactor);
  if (const std::string summary = redactor.summary(); !summary.empty()) result.masked = summary;
  return result;
}

}  // namespace

void ReportFlags::write(const std::filesystem::path& folder, const RunRecord& record,
                        Redactor& redactor) const {
  write_reports(folder, masked(record, redactor), forms_);
}

void ReportFlags::write_record(const std::filesystem::path& folder, const RunRecord& record,
                               Redactor& redactor) const {
  culprit::write_record(folder, masked(record, redactor));
}

void ReportFlags::print_written(const std::filesystem::path& folder, const RunRecord& record,
                                const Redactor& redactor) const {
  fmt::print(
      "\nreport: {} (paste it), report.html (open it), report.json, junit.xml, ctrf.json, "
      "matrix.svg, trace.json, graph.dot\n",
      escape_controls((folder / "report.md").string()));
  if (!record.reproductions.empty()) {
    fmt::print("repros: {}\n", escape_controls((folder / "repros").string()));
    for (const std::string& line : reproductions_in_words(record))
      fmt::print("  {}\n", escape_controls(line));
  }
  for (const std::string& form : forms_)
    fmt::print("form: {}\n", escape_controls((folder / fmt::format("form_{}.md", form)).string()));
  if (const std::string summary = redactor.summary(); !summary.empty())
    fmt::print("masked in the files: {} (--redact=none keeps them)\n", summary);
}

struct ReportCommand::Impl {
  std::string folder;
  ReportFlags report;
};

ReportCommand::ReportCommand(CLI::App& app) : impl_(std::make_unique<Impl>()) {
  CLI::App* sub =
      app.add_subcommand("report",
                         "Writes the reports of a finished run once more, from its record "
                         "(run.json, cells.jsonl, traces/); nothing "
                         "is run.\nExit status: 0 written, 2 usage, 3 a broken record.");
  sub->add_option("run", impl_->folder, "the folder that `culprit run` wrote")
      ->required()
      ->type_name("RUN");
  impl_->report.add_to(*sub);
}
ReportCommand::~ReportCommand() = default;

int ReportCommand::run() const {
  const RunRecord record = read_run(impl_->folder);
  Redactor redactor = impl_->report.redactor();
  impl_->report.write(impl_->folder, record, redactor);
  impl_->report.print_written(impl_->folder, record, redactor);
  return 0;
}

}  // namespace culprit
