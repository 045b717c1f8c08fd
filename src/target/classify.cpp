#include "target/classify.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "base/exit_status.hpp"
#include "target/error_line.hpp"
#include "target/outcome_line.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

constexpr int kMaxNoteColumns = 300;

void fail(JudgedRun& run, std::string fingerprint) {
  run.trial = {Trial::Status::kFail, std::move(fingerprint)};
}

// 77: what it needs is not here; 125: can't tell (git bisect); 126, 127: the shell could not start
// it.
bool is_unresolved_status(int status, std::span<const int> more) {
  return status == 77 || (status >= 125 && status <= 127) ||
         std::find(more.begin(), more.end(), status) != more.end();
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name ? name : std::to_string(number);
}

void classify_exit(const ProcessResult& result, bool has_error_lines, const std::string& error_line,
                   JudgedRun& run) {
  if (result.value == 0) {
    run.trial = {Trial::Status::kPass, ""};
    return;
  }
  std::string fingerprint = fmt::format("EXIT:{}", result.value);
  if (has_error_lines && !error_line.empty()) fingerprint += ':' + mask_volatile(error_line);
  fail(run, std::move(fingerprint));
}

}  // namespace

JudgedRun classify(const ProcessResult& result, const JudgeRules& rules) {
  JudgedRun run;
  run.note = describe(result);
  const bool has_exited = result.end == ProcessEnd::kExited;
  if (result.end == ProcessEnd::kCannotStart || result.end == ProcessEnd::kCancelled) return run;

  const std::string out = result.out.text();
  const std::string err = result.err.text();
  const auto line = find_outcome_line(out);
  const std::string error_line = line && !line->message.empty()    ? line->message
                                 : has_exited && result.value == 0 ? ""
                                                                   : find_error_line(err, out);
  if (!error_line.empty())
    run.note += ": " + cut_to_width(escape_controls(error_line), kMaxNoteColumns);
  if (has_exited && is_unresolved_status(result.value, rules.unresolved_statuses)) return run;
  if (line) run.cost = line->cost;

  for (const OutputPattern& pattern : rules.patterns)
    if (pattern.matches(err) || pattern.matches(out)) {
      fail(run, "MATCH:" + pattern.name());
      return run;
    }
  if (line && !line->has_passed) {
    fail(run, line->fingerprint);
    return run;
  }
  switch (result.end) {
    case ProcessEnd::kSignalled:
      fail(run, "SIGNAL:" + signal_name(result.value));
      break;
    case ProcessEnd::kDeadline:
      fail(run, "HANG:deadline");
      break;
    case ProcessEnd::kStalled:
      fail(run, "HANG:stalled");
      break;
    default:
      classify_exit(result, rules.has_error_lines, error_line, run);
  }
  return run;
}

bool is_silent(const std::string& fingerprint) {
  if (fingerprint.starts_with("DUMP:") && fingerprint != "DUMP:none") return true;
  const auto outcome = outcome_named(fingerprint.substr(0, fingerprint.find_first_of(":@")));
  return outcome && row_of(*outcome).silent;
}

void judge_dump(const std::string& path, const Dump& reference, const DumpTolerance& tolerance,
                JudgedRun& run) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    fail(run, "DUMP:none");
    run.note += ": no dump was written";
    return;
  }
  try {
    const auto difference = first_difference(reference, read_dump(path), tolerance);
    if (!difference) return;
    fail(run, "DUMP:" + escape_controls(difference->fingerprint));
    run.note += ": " + cut_to_width(escape_controls(difference->text), kMaxNoteColumns);
  } catch (const DumpError& error) {
    run.trial = {};
    run.note += std::string(": ") + error.what();
  }
}

}  // namespace culprit
