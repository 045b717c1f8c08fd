#include "target/command_runner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

// How much of a failed reference run's output an error message repeats.
constexpr std::size_t kShownBytes = 2000;

std::string end_of(const std::string& text) {
  const std::size_t bytes = std::min(text.size(), kShownBytes);
  return (bytes < text.size() ? "..." : "") +
         escape_controls_keep_lines(text.substr(text.size() - bytes));
}

class CommandRunner {
 public:
  // `journal` may be null: then nothing is recorded or remembered.
  CommandRunner(const CommandTarget& target, Journal* journal, CommandRunnerOptions options)
      : target_(target), journal_(journal), options_(std::move(options)) {
    if (options_.jobs == 0) throw UsageError("--jobs: got 0, expected at least 1");
    if (target_.has_fixed_dump() && options_.jobs > 1)
      throw UsageError(
          "--dump names one file for all trials, so they can't run at once: expected --jobs 1, or "
          "{dump} in the command");
    if (target_.has_dump() && !std::filesystem::is_directory(options_.work_directory))
      throw UsageError(fmt::format("no folder '{}' for dumps", options_.work_directory));
    if (!journal_) return;
    for (const TrialRecord& record : journal_->records())
      if (record.trial.status == Trial::Status::kPass)
        slowest_pass_ = std::max(slowest_pass_, record.seconds);
  }

  std::vector<Trial> evaluate(std::span<const Assignment> batch) {
    if (!has_reference_ && !establish_reference()) return {};
    std::vector<std::optional<Trial>> trials(batch.size());
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const TrialRecord* known = journal_ ? journal_->find(batch[i], asked_[batch[i]]++) : nullptr;
      if (known)
        trials[i] = known->trial;
      else
        missing.push_back(i);
    }
    run(batch, missing, trials);
    std::vector<Trial> results;
    for (const auto& trial : trials) {
      if (!trial) break;
      results.push_back(*trial);
    }
    return results;
  }

  // One more run, not recorded.
  JudgedRun run_unrecorded(const Assignment& assignment) {
    if (target_.has_dump() && !has_reference_ && !establish_reference()) return {};
    const ProcessRequest request = request_for(assignment, new_dump_path());
    return judge(run_alone(request), dump_path_);
  }

 private:
  std::string new_dump_path() {
    if (!target_.has_dump()) return "";
    dump_path_ = target_.has_fixed_dump()
                     ? target_.spec().dump_path
                     : fmt::format("{}/dump-{}-{}{}", options_.work_directory, ::getpid(),
                                   serial_++, target_.dump_suffix());
    return dump_path_;
  }

  // numpy.save adds .npy to a path without it.
  std::string written_path(const std::string& path) const {
    std::error_code ignored;
    return !std::filesystem::exists(path, ignored) &&
                   std::filesystem::exists(path + ".npy", ignored)
               ? path + ".npy"
               : path;
  }

  void remove_dump(const std::string& path) const {
    if (path.empty()) return;
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    if (!target_.has_fixed_dump()) std::filesystem::remove(path + ".npy", ignored);
    if (std::filesystem::exists(path, ignored))
      throw SetupError(fmt::format("cannot remove the dump '{}' of an earlier trial", path));
  }

  ProcessRequest request_for(const Assignment& assignment, const std::string& dump_path) const {
    ProcessRequest request = target_.request(assignment, dump_path);
    request.deadline = target_.spec().timeout;
    if (request.deadline) return request;
    if (!has_reference_)
      request.deadline = kReferenceTimeout;
    else
      request.deadline = std::max<std::chrono::milliseconds>(
          kMinTimeout, std::chrono::milliseconds(
                           static_cast<std::int64_t>(slowest_pass_ * 1e3 * kTimeoutFactor)));
    return request;
  }

  // Judges a finished run and removes its dump.
  JudgedRun judge(const ProcessResult& result, const std::string& dump_path) {
    JudgedRun run = classify(result, target_.judge_rules());
    if (run.trial.status == Trial::Status::kPass && target_.has_dump())
      judge_dump(written_path(dump_path), reference_dump_, target_.spec().tolerance, run);
    if (run.trial.status == Trial::Status::kPass)
      slowest_pass_ = std::max(slowest_pass_, result.wall_seconds);
    remove_dump(dump_path);
    return run;
  }

  ProcessResult run_alone(const ProcessRequest& request) {
    ProcessResult result;
    RunOptions run;
    run.cancel_fd = options_.cancel_fd;
    run.on_start = [&](std::size_t) { remove_dump(dump_path_); };
    run.on_done = [&](std::size_t, ProcessResult&& done) { result = std::move(done); };
    run_processes({&request, 1}, run);
    return result;
  }

  std::string kept_dump_path() const { return options_.work_directory + "/reference-dump"; }

  bool load_reference() {
    const Assignment assignment = target_.reference();
    const TrialRecord* record = journal_ ? journal_->find(assignment, 0) : nullptr;
    if (!record || record->trial.status != Trial::Status::kPass) return false;
    if (target_.has_dump()) {
      std::error_code ignored;
      if (!std::filesystem::exists(kept_dump_path(), ignored)) return false;
      try {
        reference_dump_ = read_dump(kept_dump_path());
      } catch (const DumpError&) {
        return false;  // cut short by the crash: one more run makes it again
      }
    }
    return has_reference_ = true;
  }

  // False when it was cancelled.
  bool establish_reference() {
    if (load_reference()) return true;
    const Assignment assignment = target_.reference();
    const std::string path = new_dump_path();
    const bool is_recorded = journal_ && !journal_->find(assignment, 0);
    // A failed reference is not recorded as finished, so that it is run again once its cause is
    // repaired.
    const std::uint64_t id = is_recorded ? journal_->start(assignment) : 0;
    const ProcessResult result = run_alone(request_for(assignment, path));
    if (result.end == ProcessEnd::kCancelled) return false;
    const JudgedRun run = classify(result, target_.judge_rules());
    if (options_.on_trial) options_.on_trial({assignment, run.trial, result, run.note});
    if (run.trial.status != Trial::Status::kPass)
      throw UsageError(
          fmt::format("the reference run, with all toggles off, does not pass: {}\n  {}\nstdout: "
                      "{}\nstderr: {}",
                      run.note, target_.shell_line(assignment), end_of(result.out.text()),
                      end_of(result.err.text())));
    if (target_.has_dump()) keep_reference_dump(path);
    slowest_pass_ = std::max(slowest_pass_, result.wall_seconds);
    if (is_recorded)
      journal_->finish(id, assignment, run.trial, result.wall_seconds, run.note, run.cost);
    return has_reference_ = true;
  }

  void keep_reference_dump(const std::string& path) {
    const std::string written = written_path(path);
    try {
      reference_dump_ = read_dump(written);
      if (const auto name = first_nan(reference_dump_))
        throw UsageError(fmt::format(
            "the reference run's dump holds NaN in '{}': nothing can be compared with it", *name));
      std::filesystem::copy_file(written, kept_dump_path(),
                                 std::filesystem::copy_options::overwrite_existing);
    } catch (const DumpError& error) {
      throw UsageError(
          fmt::format("the reference run passed but left no usable dump: {}", error.what()));
    } catch (const std::filesystem::filesystem_error& error) {
      throw SetupError(fmt::format("cannot keep the reference dump: {}", error.what()));
    }
    remove_dump(path);
  }

  void run(std::span<const Assignment> batch, const std::vector<std::size_t>& missing,
           std::vector<std::optional<Trial>>& trials) {
    std::vector<ProcessRequest> requests;
    std::vector<std::string> dumps;
    for (const std::size_t i : missing) {
      dumps.push_back(new_dump_path());
      requests.push_back(request_for(batch[i], dumps.back()));
    }
    std::vector<std::uint64_t> ids(missing.size());
    RunOptions run;
    run.jobs = options_.jobs;
    run.cancel_fd = options_.cancel_fd;
    run.on_start = [&](std::size_t index) {
      remove_dump(dumps[index]);
      if (journal_) ids[index] = journal_->start(batch[missing[index]]);
    };
    run.on_done = [&](std::size_t index, ProcessResult&& result) {
      if (result.end == ProcessEnd::kCancelled) {
        remove_dump(dumps[index]);
        return;
      }
      const Assignment& assignment = batch[missing[index]];
      const JudgedRun judged = judge(result, dumps[index]);
      if (journal_)
        journal_->finish(ids[index], assignment, judged.trial, result.wall_seconds, judged.note,
                         judged.cost);
      trials[missing[index]] = judged.trial;
      if (options_.on_trial) options_.on_trial({assignment, judged.trial, result, judged.note});
    };
    run_processes(requests, run);
  }

  const CommandTarget& target_;
  Journal* journal_;
  CommandRunnerOptions options_;
  std::map<Assignment, std::size_t> asked_;  // how often each was asked for in this process
  double slowest_pass_ = 0;                  // seconds
  bool has_reference_ = false;
  Dump reference_dump_;
  std::string dump_path_;  // the newest
  std::size_t serial_ = 0;
};

}  // namespace

Evaluate make_evaluate(const CommandTarget& target, Journal& journal,
                       CommandRunnerOptions options) {
  auto runner = std::make_shared<CommandRunner>(target, &journal, std::move(options));
  return [runner](std::span<const Assignment> batch) { return runner->evaluate(batch); };
}

JudgedRun run_trial(const CommandTarget& target, const Assignment& assignment,
                    const CommandRunnerOptions& options) {
  return CommandRunner(target, nullptr, options).run_unrecorded(assignment);
}

}  // namespace culprit
