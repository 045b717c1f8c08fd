// Recognises torchrun, python -m torch.distributed.launch/run, paddle.distributed.launch,
// deepspeed, srun, mpirun, and a bare interpreter.
#include "launch/launch_find.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace culprit::launch::shell {

namespace {

struct LauncherName {
  std::string_view name;
  Launcher launcher;
};
constexpr LauncherName kCommands[] = {
    {"torchrun", Launcher::kTorch},      {"fleetrun", Launcher::kPaddle},
    {"deepspeed", Launcher::kDeepSpeed}, {"srun", Launcher::kSlurm},
    {"mpirun", Launcher::kMpi},          {"mpiexec", Launcher::kMpi},
    {"orterun", Launcher::kMpi},         {"accelerate", Launcher::kTorch},
};
constexpr LauncherName kModules[] = {
    {"torch.distributed.launch", Launcher::kTorch},
    {"torch.distributed.run", Launcher::kTorch},
    {"paddle.distributed.launch", Launcher::kPaddle},
    {"paddle.distributed.fleet.launch", Launcher::kPaddle},
    {"deepspeed.launcher.runner", Launcher::kDeepSpeed},
};
// Commands that run the command after them.
constexpr std::array<std::string_view, 19> kWrappers = {
    "nohup",     "time",   "exec",   "sudo",    "env",     "command", "numactl",
    "nsys",      "ncu",    "stdbuf", "taskset", "timeout", "setsid",  "singularity",
    "apptainer", "docker", "uv",     "ssh",     "pdsh"};
// Those that take the command as a string, or from their input.
constexpr std::array<std::string_view, 2> kRemoteShells = {"ssh", "pdsh"};
// Those that take a batch script: a file, their input, or --wrap.
constexpr std::array<std::string_view, 3> kSubmitters = {"sbatch", "qsub", "bsub"};
// Trainers of Paddle's whose flags all stand in a YAML file.
constexpr std::array<std::string_view, 2> kYamlPrograms = {"paddleformers-cli", "erniekit"};
// Launcher flags without a value; all others take one.
constexpr std::array<std::string_view, 9> kBareLauncherFlags = {
    "standalone",         "use_env",     "no_python",
    "no_local_rank",      "force_multi", "master",
    "bind_cores_to_rank", "multi_gpu",   "enable_elastic_training"};

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_python(std::string_view word) {
  const std::string_view base = base_name(word);
  return base.starts_with("python") &&
         base.substr(6).find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_shell(std::string_view word) {
  const std::string_view base = base_name(word);
  return base == "bash" || base == "sh";
}

std::optional<Launcher> launcher_named(std::string_view word) {
  for (const LauncherName& row : kCommands) {
    if (base_name(word) == row.name) return row.launcher;
  }
  return std::nullopt;
}

bool starts_command(std::string_view word) {
  return launcher_named(word).has_value() || is_python(word) || is_shell(word);
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view word) {
  return std::find(names.begin(), names.end(), base_name(word)) != names.end();
}

std::string normalised(std::string_view flag) {
  while (flag.starts_with('-')) flag.remove_prefix(1);
  std::string name(flag.substr(0, flag.find('=')));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

LaunchWord LaunchFinder::to_word(const Field& field) const {
  LaunchWord word;
  word.used_line = field.used_line;
  word.written = field.written;
  const Value& value = field.value;
  for (std::size_t i = 0; i < value.text.size(); ++i) {
    const std::uint32_t origin = value.from[i];
    if (!is_gap(origin)) {
      word.text.push_back(value.text[i]);
      word.origin.push_back(origin);
      word.through.push_back(value.through[i]);
      if (word.line == 0 && origin != kNoOrigin) word.line = evaluator_->line_at(origin);
      continue;
    }
    const Gap& gap = evaluator_->gaps().at(origin);
    word.text += gap.source;
    word.origin.insert(word.origin.end(), gap.source.size(), kNoOrigin);
    word.through.insert(word.through.end(), gap.source.size(), value.through[i]);
    if (word.known)
      word.why_unknown = fmt::format("{} (line {}): {}", gap.source, gap.line, gap.reason);
    word.known = false;
    word.sites.insert(word.sites.end(), gap.sites.begin(), gap.sites.end());
    if (word.line == 0 && gap.line > 0) word.line = gap.line;
  }
  if (value.assumed && word.known) {
    word.known = false;
    word.why_unknown = fmt::format("{} depends on arguments of the script", word.text);
  }
  if (word.line == 0) word.line = field.used_line;
  if (word.used_line == 0) word.used_line = word.line;
  return word;
}

// Index of the program in argv, or argv.size(). A .py file decides; without one, the first word
// that is neither a flag nor a flag's value.
std::size_t LaunchFinder::find_program(const std::vector<Field>& argv, std::size_t from,
                                       bool& module) const {
  module = false;
  for (std::size_t i = from; i < argv.size(); ++i) {
    const std::string& text = argv[i].value.text;
    if ((text == "-m" || text == "--module") && i + 1 < argv.size()) {
      module = true;
      return i + 1;
    }
    if (text.ends_with(".py") && !text.starts_with('-')) return i;
  }
  for (std::size_t i = from; i < argv.size(); ++i) {
    const std::string& text = argv[i].value.text;
    if (!text.starts_with('-')) return i;
    const std::string name = normalised(text);
    const bool bare = std::find(kBareLauncherFlags.begin(), kBareLauncherFlags.end(), name) !=
                          kBareLauncherFlags.end() ||
                      text == "-u" || text == "-l";
    if (!bare && text.find('=') == std::string::npos) ++i;
  }
  return argv.size();
}

void LaunchFinder::note_other_script(const Invocation& invocation, const Value& name) {
  if (invocation.trial) return;
  evaluator_->note_unknown(
      invocation.line, "runs another script, which is not followed: " + evaluator_->display(name));
}

// sbatch <<EOF, sbatch --wrap "command line", sbatch job.sh.
void LaunchFinder::inspect_submission(const Invocation& invocation) {
  if (invocation.input) return evaluator_->run_text(*invocation.input, invocation.line);
  const std::vector<Field>& argv = invocation.argv;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const Value& word = argv[i].value;
    if (word.text.starts_with("--wrap=")) {
      return evaluator_->run_text(word.slice(7, word.text.size()), invocation.line);
    }
    if (word.text == "--wrap" && i + 1 < argv.size())
      return evaluator_->run_text(argv[i + 1].value, invocation.line);
    if (base_name(word.text).find('.') != std::string_view::npos && !word.text.starts_with('-'))
      return note_other_script(invocation, word);
  }
}

void LaunchFinder::inspect(const Invocation& invocation) {
  const std::vector<Field>& argv = invocation.argv;
  std::size_t i = 0;
  const std::string& first = argv[0].value.text;
  if (is_one_of(kSubmitters, first)) return inspect_submission(invocation);
  if (is_one_of(kYamlPrograms, first)) {
    // All that counts stands in a file that is not read: no launch, but the reason why there is
    // none.
    if (!invocation.trial) {
      evaluator_->note_unknown(
          invocation.line,
          fmt::format("{} takes its settings from another file, which is not read: {}", first,
                      evaluator_->display(argv.back().value)));
    }
    return;
  }
  const bool is_unknown = argv[0].value.has_gap();
  if (!starts_command(first)) {
    if (!is_unknown && !is_one_of(kWrappers, first)) return;
    while (i < argv.size() && !starts_command(argv[i].value.text)) ++i;
    if (i == argv.size() && is_one_of(kRemoteShells, first) && argv.size() > 1) {
      // ssh HOST "command line", or ssh HOST <<EOF
      const Value& text = invocation.input ? *invocation.input : argv.back().value;
      return evaluator_->run_text(text, invocation.line);
    }
    if (i == argv.size() && is_unknown) {
      // $LAUNCHER train.py --flags, with a launcher that is set elsewhere
      std::size_t program = 1;
      while (program < argv.size() && !argv[program].value.text.ends_with(".py")) ++program;
      if (program < argv.size()) i = program - 1;
    }
    if (i == argv.size()) return;
  }

  Launch launch;
  launch.line = invocation.line;
  launch.conditional = invocation.conditional;
  launch.looped = invocation.looped;
  launch.launcher_args = outer_.args;
  launch.launcher = outer_.launcher;
  bool has_launcher = outer_.has_launcher;
  const auto keep = [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end && k < argv.size(); ++k)
      launch.launcher_args.push_back(to_word(argv[k]));
  };

  while (i < argv.size()) {
    const std::string& word = argv[i].value.text;
    const auto named = launcher_named(word);
    if (named == Launcher::kSlurm || named == Launcher::kMpi) {
      launch.launcher = *named;
      has_launcher = true;
      std::size_t next = i + 1;
      while (next < argv.size() && !starts_command(argv[next].value.text)) ++next;
      keep(i + 1, next);
      if (next == argv.size()) return;
      i = next;
    } else if (named) {
      launch.launcher = *named;
      has_launcher = true;
      ++i;
      break;
    } else if (is_shell(word)) {
      std::size_t text = i + 1;
      while (text < argv.size() && argv[text].value.text.starts_with('-')) ++text;
      const bool inline_text = text > i + 1 && argv[text - 1].value.text.ends_with('c');
      if (text == argv.size() && !invocation.input) return;
      if (text < argv.size() && !inline_text) {
        note_other_script(invocation, argv[text].value);
        return;
      }
      const Outer before =
          std::exchange(outer_, Outer{launch.launcher_args, has_launcher, launch.launcher});
      evaluator_->run_text(text < argv.size() ? argv[text].value : *invocation.input,
                           invocation.line);
      outer_ = before;
      return;
    } else {  // an interpreter, perhaps with a launcher as module
      std::size_t module = i + 1;
      while (module < argv.size() && argv[module].value.text.starts_with('-') &&
             argv[module].value.text != "-m") {
        ++module;
      }
      ++i;
      if (module + 1 < argv.size() && argv[module].value.text == "-m") {
        for (const LauncherName& row : kModules) {
          if (argv[module + 1].value.text != row.name) continue;
          launch.launcher = row.launcher;
          has_launcher = true;
          i = module + 2;
        }
      }
      break;
    }
  }

  bool module = false;
  const std::size_t program = find_program(argv, i, module);
  if (program >= argv.size()) return;
  keep(i, module ? program - 1 : program);
  launch.program = evaluator_->display(argv[program].value);
  if (!has_launcher) launch.launcher = Launcher::kPython;
  for (std::size_t k = program + 1; k < argv.size(); ++k) launch.args.push_back(to_word(argv[k]));
  evaluator_->count_launch();
  if (!invocation.trial) launches_.push_back(std::move(launch));
}

}  // namespace culprit::launch::shell
