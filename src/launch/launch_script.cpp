// Reads a script's bytes, refuses what is not a text, runs the evaluator over it, and collects the
// launches and the configuration files that they name.
#include "launch/launch_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "launch/flag_table.hpp"
#include "launch/launch_batch.hpp"
#include "launch/launch_find.hpp"
#include "launch/shell_eval.hpp"

namespace culprit::launch {

namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw UsageError(fmt::format("[launch.read] {}: {}", path.string(), why));
}

// Offset of the first byte that is not UTF-8, or npos.
std::size_t first_bad_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    if ((byte >= 0x80 && byte < 0xC2) || byte > 0xF4 || i + length > text.size()) return i;
    std::uint32_t code = length == 1 ? byte : byte & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0) != 0x80) return i;
      code = (code << 6) | (next & 0x3Fu);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    if (overlong || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string read_file(const std::filesystem::path& path, std::size_t limit, std::string& why) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || status.type() == std::filesystem::file_type::not_found) {
    why = "no such file, or not readable";
  } else if (std::filesystem::is_directory(status)) {
    why = "is a folder, expected a file";
  } else if (!std::filesystem::is_regular_file(status)) {
    why = "is not a regular file";
  } else if (std::filesystem::file_size(path, error) > limit) {
    why = fmt::format("is larger than {} bytes", limit);
  }
  if (!why.empty()) return {};
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  if (stream) {
    // One byte more than allowed: the file may have grown since.
    text.resize(limit + 1);
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream && !stream.eof())
    why = "can't be read";
  else if (text.size() > limit)
    why = fmt::format("is larger than {} bytes", limit);
  return text;
}

// What the script writes into a JSON file. Parts that are not known become null, or stay as written
// inside of strings.
std::string json_text(const shell::Value& value, const shell::GapTable& gaps) {
  std::string text;
  bool in_string = false;
  for (std::size_t i = 0; i < value.text.size(); ++i) {
    const char c = value.text[i];
    if (shell::is_gap(value.from[i])) {
      if (!in_string) {
        text += "null";
        continue;
      }
      for (const char shown : gaps.at(value.from[i]).source) {
        const bool plain =
            shown != '"' && shown != '\\' && static_cast<unsigned char>(shown) >= 0x20;
        text.push_back(plain ? shown : '?');
      }
      continue;
    }
    if (c == '"' && (i == 0 || value.text[i - 1] != '\\')) in_string = !in_string;
    text.push_back(c);
  }
  return text;
}

std::string without_dot(std::string name) {
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

LaunchFile config_file(const std::string& name, bool known_name,
                       const std::filesystem::path& script,
                       const shell::ShellEvaluator& evaluator) {
  LaunchFile file;
  file.name = name;
  for (const auto& [written, content] : evaluator.files()) {
    if (without_dot(written) != without_dot(name)) continue;
    file.in_script = true;
    file.line = content.line;
    file.known = content.known;
    if (content.known)
      file.text = json_text(content.content, evaluator.gaps());
    else
      file.why_unknown =
          fmt::format("written on line {} by a command that is not evaluated", content.line);
    return file;
  }
  if (!known_name) {
    file.why_unknown = "the file's name is not known";
    return file;
  }
  if (evaluator.folder_changed_line() != 0) {
    file.why_unknown =
        fmt::format("the script leaves its folder on line {}, so where the file lies is not known",
                    evaluator.folder_changed_line());
    return file;
  }
  std::error_code error;
  const auto folder = std::filesystem::weakly_canonical(
      script.has_parent_path() ? script.parent_path() : std::filesystem::path("."), error);
  const auto path = error ? folder : std::filesystem::weakly_canonical(folder / name, error);
  const auto inside = error ? std::filesystem::path("..") : path.lexically_relative(folder);
  if (error || inside.empty() || *inside.begin() == "..") {
    file.why_unknown = "lies outside of the script's folder";
    return file;
  }
  file.text = read_file(path, kMaxConfigBytes, file.why_unknown);
  file.known = file.why_unknown.empty();
  if (!file.known) file.text.clear();
  return file;
}

// Whether a word may name a configuration: the value of a flag that takes one, or the first
// argument.
bool may_name_config(const std::vector<LaunchWord>& args, std::size_t i) {
  const std::string& word = args[i].text;
  const auto takes_config = [](const std::string& flag) {
    const FlagRow* row = flag.starts_with("--") ? find_flag(flag) : nullptr;
    return row != nullptr && row->setting == Setting::kConfigFile;
  };
  if (word.starts_with("--")) return word.find('=') != std::string::npos && takes_config(word);
  return i == 0 || takes_config(args[i - 1].text);
}

void collect_files(LaunchScript& script, const shell::ShellEvaluator& evaluator) {
  std::set<std::string> seen;
  for (const Launch& launch : script.launches) {
    for (std::size_t i = 0; i < launch.args.size(); ++i) {
      if (!may_name_config(launch.args, i)) continue;
      const LaunchWord& word = launch.args[i];
      std::string name = word.text;
      if (name.starts_with("--")) name.erase(0, name.find('=') + 1);
      if (name.empty() || name.size() > 1024 || seen.size() >= 32) continue;
      const bool written = std::any_of(
          evaluator.files().begin(), evaluator.files().end(),
          [&](const auto& file) { return without_dot(file.first) == without_dot(name); });
      if (!written && !name.ends_with(".json")) continue;
      if (seen.insert(name).second)
        script.files.push_back(config_file(name, word.known, script.path, evaluator));
    }
  }
}

// A bare interpreter counts where nothing else launches and one of its flags is a modelled one.
std::vector<Launch> real_launches(std::vector<Launch> launches) {
  const bool has_launcher = std::any_of(launches.begin(), launches.end(), [](const Launch& launch) {
    return launch.launcher != Launcher::kPython;
  });
  std::erase_if(launches, [&](const Launch& launch) {
    if (launch.launcher != Launcher::kPython) return false;
    return has_launcher ||
           std::none_of(launch.args.begin(), launch.args.end(), [](const LaunchWord& word) {
             const FlagRow* row = find_flag(word.text);
             return word.text.starts_with("--") && row != nullptr &&
                    row->cls != FlagClass::kRecognised;
           });
  });
  return launches;
}

// The scripts that are not followed are the first suspects.
std::string why_nothing_launched(const LaunchScript& script) {
  constexpr std::size_t kMaxNamed = 3;
  std::string why =
      "starts no training program that is recognised; expected torchrun, python -m "
      "torch.distributed.launch or paddle.distributed.launch, deepspeed, srun, mpirun, or python "
      "with parallel-training flags";
  std::size_t num_named = 0;
  for (const LaunchNote& note : script.unknowns) {
    const bool elsewhere = note.text.find("another script") != std::string::npos ||
                           note.text.find("another file") != std::string::npos;
    if (!elsewhere || num_named++ >= kMaxNamed) continue;
    why += fmt::format("; line {} {}", note.line, note.text);
  }
  return why;
}

void evaluate(LaunchScript& script, bool unset_is_empty) {
  shell::ShellEvaluator* current = nullptr;
  shell::LaunchFinder finder(current);
  shell::ShellEvaluator evaluator(
      script.text, unset_is_empty,
      [&](const shell::Invocation& command) { finder.inspect(command); });
  current = &evaluator;
  for (const BatchVariable& variable : batch_variables(script.batch))
    evaluator.preset(variable.name, variable.number);
  try {
    evaluator.run();
    script.launches = real_launches(finder.take());
    if (script.launches.empty()) {
      evaluator.run_uncalled_functions();
      script.launches = real_launches(finder.take());
    }
  } catch (const UsageError& error) {
    std::string_view why = error.what();
    if (why.starts_with("[launch.read] ")) why.remove_prefix(14);
    refuse(script.path, std::string(why));
  } catch (const shell::ValueTooLong& error) {
    refuse(script.path, fmt::format("line {}: {}", evaluator.current_line(), error.what()));
  }
  collect_files(script, evaluator);
  script.unknowns = evaluator.unknowns();
  script.assumptions = evaluator.assumptions();
  const std::string asked = describe(script.batch);
  if (!asked.empty()) {
    script.assumptions.push_back(
        {0, "the job is taken to be submitted as its #SBATCH lines say: " + asked});
  }
}

}  // namespace

int line_of(std::string_view text, std::uint32_t offset) {
  const auto end =
      text.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(offset, text.size()));
  return static_cast<int>(std::count(text.begin(), end, '\n')) + 1;
}

LaunchScript parse_launch_script(std::string_view text, const std::filesystem::path& path) {
  if (text.size() > kMaxScriptBytes)
    refuse(path, fmt::format("is larger than {} bytes", kMaxScriptBytes));
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) refuse(path, "is empty");
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    refuse(path, fmt::format("line {}: a NUL byte; a binary file, expected a bash script",
                             line_of(text, static_cast<std::uint32_t>(zero))));
  }
  const std::size_t bad = first_bad_byte(text);
  if (bad != std::string_view::npos) {
    refuse(path, fmt::format("line {}: byte 0x{:02x} is not UTF-8; expected a bash script",
                             line_of(text, static_cast<std::uint32_t>(bad)),
                             static_cast<unsigned char>(text[bad])));
  }
  LaunchScript script;
  script.path = path;
  script.text = std::string(text);
  script.batch = read_batch_request(text);

  evaluate(script, /*unset_is_empty=*/true);
  // A script that does nothing without its arguments: look at every way they could take.
  if (script.launches.empty()) evaluate(script, /*unset_is_empty=*/false);
  if (script.launches.empty()) refuse(path, why_nothing_launched(script));
  return script;
}

LaunchScript read_launch_script(const std::filesystem::path& path) {
  std::string why;
  const std::string text = read_file(path, kMaxScriptBytes, why);
  if (!why.empty()) refuse(path, why);
  return parse_launch_script(text, path);
}

}  // namespace culprit::launch
