// Launch stage, first half: a reporter's bash launch script, read as text and never executed
// (path -> LaunchScript). What bash would decide from outside of the script (an environment
// variable, a command's output, a file test) is not guessed: it becomes a gap in a word, or a note
// with its line. All text in here is the script author's, raw: whoever prints it must escape it for
// where it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::launch {

// Half-open range of byte offsets into LaunchScript::text.
struct SourceRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const SourceRange&) const = default;
};

// Origin of a byte that stands nowhere in the script (the result of an arithmetic expression).
inline constexpr std::uint32_t kNoOrigin = 0xFFFFFFFFu;

// One argument of a launch, after expansion.
struct LaunchWord {
  std::string text;   // parts that are not known are shown as the script writes them, e.g. "$HOSTS"
  bool known = true;  // false: `text` has such a part, so it is no value
  int line = 0;       // where its text is written (TP=2 in line 14), 1-based
  int used_line = 0;  // where the command or array that hands it over has it
  std::string why_unknown;         // empty when known
  std::vector<SourceRange> sites;  // of a part that is not known: each $NAME that hands it on
  std::vector<std::uint32_t>
      origin;  // for each byte of `text` its offset in the script, or kNoOrigin
  std::vector<SourceRange>
      through;          // for each byte the innermost $NAME it came through; {0,0} if none
  SourceRange written;  // the shell word that gave it
};

// How the job is started. kPython is a bare interpreter, a launch only where no launcher is used.
enum class Launcher { kPaddle, kTorch, kDeepSpeed, kSlurm, kMpi, kPython };

// One command of the script that starts a training program.
struct Launch {
  Launcher launcher = Launcher::kPython;
  int line = 0;  // of the command's first word
  std::vector<LaunchWord>
      launcher_args;             // all between the launcher and the program, outer ones first
  std::string program;           // the .py file or module
  std::vector<LaunchWord> args;  // the program's
  bool conditional = false;      // under a condition that can't be evaluated
  bool looped = false;           // in a loop that was read once
};

// Something the reader could not know, or had to assume, and where. Line 0: the script as a whole.
struct LaunchNote {
  int line = 0;
  std::string text;
};

// A configuration file that a launch names: written by the script itself (here-document, echo) or
// read from beside the script.
struct LaunchFile {
  std::string name;  // as the launch names it
  std::string text;  // empty if not known
  bool known = false;
  bool in_script = false;  // written by the script; `line` then is a line of the script
  int line = 0;
  std::string why_unknown;  // empty when known
};

// What the script's #SBATCH lines ask for; `sbatch` on its command line could ask for something
// else.
struct BatchNumber {
  int value = 0;
  int line = 0;
  SourceRange written;  // {0,0}: follows from others
};
struct BatchRequest {
  std::optional<BatchNumber> nodes;
  std::optional<BatchNumber> tasks;
  std::optional<BatchNumber> tasks_per_node;
  std::optional<BatchNumber> gpus_per_node;
};

struct LaunchScript {
  std::filesystem::path path;
  std::string text;  // the whole script, byte for byte
  std::vector<Launch> launches;
  std::vector<LaunchFile> files;
  BatchRequest batch;
  std::vector<LaunchNote> unknowns;     // can change what the job does
  std::vector<LaunchNote> assumptions;  // e.g. a variable never assigned, taken as empty in a test
};

inline constexpr std::size_t kMaxScriptBytes = std::size_t{1} << 20;

// Reads the script at `path` without running anything. Reads at most that file and JSON files in
// its folder that a launch names; never the environment. Throws UsageError, with the line where
// there is one: not a readable file, larger than kMaxScriptBytes, empty, not text (NUL, not UTF-8),
// not bash (unterminated quote, ...), expands without bound, or starts no training program.
LaunchScript read_launch_script(const std::filesystem::path& path);

// The same for a script at hand; `path` gives the folder and the name for messages and need not
// exist.
LaunchScript parse_launch_script(std::string_view text, const std::filesystem::path& path);

// 1-based line of a byte offset; an offset past the end gives the last line.
int line_of(std::string_view text, std::uint32_t offset);

}  // namespace culprit::launch
