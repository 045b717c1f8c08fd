#include "repro_files/check_repro_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/whole_file.hpp"
#include "process/process_runner.hpp"
#include "process/temporary_folder.hpp"
#include "repro_files/check_cache.hpp"

namespace culprit {
namespace fs = std::filesystem;
namespace {

std::string environment(const char* name, const std::string& otherwise = "") {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

constexpr const char* kBuildFolder = "build";

// Where files are built and run: in the folder of the cache where that can be made, else in the
// temporary one. Builds of a process that was killed are still there; what is a day old is taken
// away.
fs::path build_parent(const fs::path& cache) {
  std::error_code error;
  if (!cache.empty()) fs::create_directories(cache, error);
  if (cache.empty() || error) {
    const fs::path temporary = fs::temp_directory_path(error);
    if (error)
      throw SetupError(fmt::format("no folder to build in: $TMPDIR: {}", error.message()));
    return temporary;
  }
  for (const auto& entry : fs::directory_iterator(cache, error)) {
    std::error_code ignored;
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(ignored);
    if (entry.path().filename().string().starts_with(std::string(kBuildFolder) + "-") &&
        age > std::chrono::hours(24))
      fs::remove_all(entry.path(), ignored);
  }
  return cache;
}

// A command as an environment variable has it ("ccache g++"), to be run in another folder.
std::vector<std::string> tool_words(const std::string& command) {
  std::istringstream text(command);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  if (words.empty()) return {command};
  if (words[0].find('/') != std::string::npos) words[0] = fs::absolute(words[0]).string();
  return words;
}

ProcessRequest request_of(std::vector<std::string> argv, const fs::path& folder,
                          const ReproCheckOptions& options) {
  ProcessRequest request;
  request.argv = std::move(argv);
  request.directory = folder.string();
  request.deadline = options.deadline;
  request.capture_limit_bytes = 64 << 10;
  return request;
}

std::vector<ProcessResult> run_all(const std::vector<ProcessRequest>& requests,
                                   const ReproCheckOptions& options,
                                   const std::function<void()>& on_done = {}) {
  std::vector<ProcessResult> results(requests.size());
  const RunOptions run{
      .jobs = std::max<std::size_t>(1, options.jobs),
      .on_start = {},
      .on_done =
          [&](std::size_t i, ProcessResult&& result) {
            results[i] = std::move(result);
            if (on_done) on_done();
          },
      .on_line = {},
      .cancel_fd = options.cancel_fd};
  if (!run_processes(requests, run))
    throw SetupError("stopped by a signal while reproductions were built and run");
  return results;
}

bool succeeded(const ProcessResult& result) {
  return result.end == ProcessEnd::kExited && result.value == 0;
}
bool ended_by_itself(const ProcessResult& result) {
  return result.end == ProcessEnd::kExited || result.end == ProcessEnd::kSignalled;
}

std::string tail_of(const ProcessResult& result) {
  const std::string text = result.out.text() + result.err.text();
  constexpr std::size_t kMostBytes = 4000;
  return text.size() <= kMostBytes ? text : text.substr(text.size() - kMostBytes);
}

// The first line of `text` that begins with `words`; empty if none does.
std::string line_with(const std::string& text, const std::string& words) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(words)) return line;
  return "";
}

// What a compiler complains of: the first line that names an error, else the first line.
std::string first_complaint(const ProcessResult& result) {
  std::istringstream lines(result.err.text() + result.out.text());
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error") != std::string::npos) return line;
    if (first.empty()) first = line;
  }
  return first;
}

std::string last_line_of(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

// What a file is run with: part of the key, so that a new compiler or release means a new run.
// Empty: not here.
std::string first_line_of(const std::vector<std::string>& command,
                          const ReproCheckOptions& options) {
  const ProcessResult result = run_all({request_of(command, "", options)}, options)[0];
  const std::string out = result.out.text();
  return succeeded(result) ? out.substr(0, out.find('\n')) : "";
}

// One file on its way through building and running.
struct Job {
  const ReproFile* file = nullptr;
  std::string tool;          // with its version
  std::string missing = {};  // why it can't run here
  std::optional<ProcessResult> build = {}, run = {}, fixed_build = {}, fixed_run = {};

  bool is_python() const { return file->name.ends_with(".py"); }
  bool is_test() const { return !file->rule_line.empty(); }
  std::string program(bool fixed = false) const {
    return file->name.substr(0, file->name.find('.')) + (fixed ? "_fixed" : "");
  }
};

std::vector<std::string> build_command(const Job& job, bool fixed,
                                       const ReproCheckOptions& options) {
  std::vector<std::string> words = tool_words(options.compiler);
  words.insert(words.end(), {"-std=c++20", "-pthread", job.program(fixed) + ".cpp"});
  if (job.is_test()) words.insert(words.end(), {"-lgtest", "-lgtest_main"});
  words.insert(words.end(), {"-o", job.program(fixed)});
  return words;
}

ReproCheck judge_job(const Job& job) {
  using Status = ReproCheck::Status;
  ReproCheck check{.name = job.file->name, .words = job.missing, .output_tail = {}};
  if (!job.missing.empty()) return check;
  for (const auto& build : {job.build, job.fixed_build}) {
    if (!build || succeeded(*build)) continue;
    check.output_tail = tail_of(*build);
    if (build->end == ProcessEnd::kCannotStart) {
      check.words = build->error;
    } else if (job.is_test() &&
               (check.output_tail.find("gtest/gtest.h: No such file") != std::string::npos ||
                check.output_tail.find("gtest/gtest.h' file not found") != std::string::npos ||
                check.output_tail.find("cannot find -lgtest") != std::string::npos)) {
      check.words = "no GoogleTest (Debian: apt-get install libgtest-dev)";
    } else {
      // A compiler that is too old, a full disk: it says nothing of what the program would show.
      check.words = "does not build: " + describe(*build);
      if (const std::string why = first_complaint(*build); !why.empty()) check.words += ": " + why;
    }
    return check;
  }
  const ProcessResult& run = *job.run;
  check.output_tail = tail_of(run);
  if (!ended_by_itself(run)) {
    check.words = describe(run);
    return check;
  }
  const std::string line = line_with(run.out.text(), job.file->shows);
  const bool shown =
      run.end == ProcessEnd::kExited && run.value == job.file->exit_status && !line.empty();
  check.status = shown ? Status::kShown : Status::kNotShown;
  if (!shown) {
    check.words = fmt::format("{}; expected exit status {} and a line that begins with {}",
                              describe(run), job.file->exit_status, job.file->shows);
    if (const std::string why = last_line_of(check.output_tail); !why.empty())
      check.words += "; it ended with: " + why;
    return check;
  }
  check.words = fmt::format("exit status {}, {}", run.value, line);
  if (!job.is_test()) return check;
  const ProcessResult& fixed = *job.fixed_run;
  if (!ended_by_itself(fixed)) {
    check.status = Status::kNotRun;
    check.words = "green today; with the marked line changed: " + describe(fixed);
    return check;
  }
  const bool red = fixed.end == ProcessEnd::kExited && fixed.value == 1 &&
                   !line_with(fixed.out.text(), "[  FAILED  ]").empty();
  check.words = red ? "green today, red with the marked line changed as the fix would"
                    : fmt::format("green today, but not red with the marked line changed: {}",
                                  describe(fixed));
  if (!red) {
    check.status = Status::kNotShown;
    check.output_tail = tail_of(fixed);
  }
  return check;
}

std::string fixed_text(const ReproFile& file) {
  std::string text = file.text;
  const auto at = text.find(file.rule_line);
  return at == std::string::npos ? text : text.replace(at, file.rule_line.size(), file.fixed_line);
}

void build_and_run(std::vector<Job>& jobs, const ReproCheckOptions& options) {
  const TemporaryFolder folder(
      build_parent(options.cache), kBuildFolder,
      ", and reproductions are built in it; set XDG_CACHE_HOME or TMPDIR to a folder that can "
      "be written");
  std::vector<ProcessRequest> requests;
  std::vector<std::optional<ProcessResult>*> slots;
  const auto add = [&](std::vector<std::string> argv, const fs::path& in,
                       std::optional<ProcessResult>& slot) {
    requests.push_back(request_of(std::move(argv), in, options));
    slots.push_back(&slot);
  };
  std::size_t done = 0, total = 0;
  const auto run_added = [&] {
    total += requests.size();
    auto results = run_all(requests, options, [&] {
      ++done;
      if (options.on_done) options.on_done(done, total);
    });
    for (std::size_t i = 0; i < slots.size(); ++i) *slots[i] = std::move(results[i]);
    requests.clear();
    slots.clear();
  };
  // Files of several cells have the same names.
  const auto folder_of = [&](const Job& job) {
    return folder.path() / std::to_string(&job - jobs.data());
  };
  for (Job& job : jobs) {
    if (!job.missing.empty()) continue;
    const fs::path own = folder_of(job);
    std::error_code error;
    fs::create_directory(own, error);
    if (error) throw SetupError(fmt::format("{}: can't be made: {}", own.string(), error.message()));
    write_whole_file(own / job.file->name, job.file->text);
    if (job.is_python()) {
      std::vector<std::string> words = tool_words(options.python);
      words.push_back(job.file->name);
      add(std::move(words), own, job.run);
      continue;
    }
    add(build_command(job, /*fixed=*/false, options), own, job.build);
    if (!job.is_test()) continue;
    write_whole_file(own / (job.program(/*fixed=*/true) + ".cpp"), fixed_text(*job.file));
    add(build_command(job, /*fixed=*/true, options), own, job.fixed_build);
  }
  run_added();
  for (Job& job : jobs) {
    if (job.is_python() || !job.build || !succeeded(*job.build)) continue;
    if (job.is_test() && !succeeded(*job.fixed_build)) continue;
    add({"./" + job.program()}, folder_of(job), job.run);
    if (job.is_test()) add({"./" + job.program(/*fixed=*/true)}, folder_of(job), job.fixed_run);
  }
  run_added();
}

// The releases of PaddlePaddle and Python; empty: no such interpreter, or none with PaddlePaddle.
std::string ask_python(const ReproCheckOptions& options) {
  // The metadata alone: importing takes seconds.
  std::vector<std::string> words = tool_words(options.python);
  words.insert(words.end(),
               {"-c",
                "import importlib.metadata as m, sys; print(m.version('paddlepaddle'), "
                "sys.version.split()[0])"});
  return first_line_of(words, options);
}

std::string why_no_python(const ReproFile& file, const std::string& releases) {
  const std::string pip = fmt::format("pip install paddlepaddle=={}", file.framework_version);
  const std::string version = releases.substr(0, releases.find(' '));
  if (releases.empty()) return fmt::format("no Python with PaddlePaddle; {}", pip);
  if (version != file.framework_version)
    return fmt::format("the Python here has PaddlePaddle {}; {}", version, pip);
  return "";
}

}  // namespace

ReproCheckOptions default_check_options() {
  ReproCheckOptions options;
  const std::string home = environment("HOME"),
                    cache = environment("XDG_CACHE_HOME", home.empty() ? "" : home + "/.cache");
  if (!cache.empty()) options.cache = fs::path(cache) / "culprit" / "repros";
  options.compiler = environment("CXX", "g++");
  options.python = environment("CULPRIT_PYTHON", "python3");
  options.jobs = std::max(1U, std::thread::hardware_concurrency());
  return options;
}

std::vector<ReproCheck> check_repro_files(const std::vector<ReproResult>& files,
                                          const ReproCheckOptions& options) {
  const CheckCache cache(options.cache);
  std::vector<ReproCheck> checks(files.size());
  std::vector<Job> jobs;
  std::vector<std::size_t> places;
  std::optional<std::string> compiler, python;  // asked once, where a file needs them
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (const auto* refusal = std::get_if<ReproRefusal>(&files[i])) {
      checks[i] = {.name = refusal->name,
                   .status = ReproCheck::Status::kRefused,
                   .words = refusal->reason,
                   .output_tail = {}};
      continue;
    }
    Job job{.file = &std::get<ReproFile>(files[i]), .tool = {}};
    if (job.is_python()) {
      if (!python) python = ask_python(options);
      job.tool = fmt::format("{} {}", options.python, *python);
      job.missing = why_no_python(*job.file, *python);
    } else {
      if (!compiler) {
        std::vector<std::string> words = tool_words(options.compiler);
        words.push_back("--version");
        compiler = first_line_of(words, options);
      }
      job.tool = fmt::format("{} {}", options.compiler, *compiler);
    }
    if (const auto known = cache.find(*job.file, job.tool); known && job.missing.empty()) {
      checks[i] = *known;
      continue;
    }
    jobs.push_back(job);
    places.push_back(i);
  }
  const bool any_to_run =
      std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.missing.empty(); });
  if (any_to_run) build_and_run(jobs, options);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    checks[places[j]] = judge_job(jobs[j]);
    cache.keep(*jobs[j].file, jobs[j].tool, checks[places[j]]);
  }
  return checks;
}

}  // namespace culprit
