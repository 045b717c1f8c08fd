// Edits by source range. Every candidate edit is verified: the edited text is read anew and all
// launches must be as expected, word by word; else the next candidate is tried, then the edit is
// refused.
#include "launch/launch_emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "launch/launch_flags.hpp"
#include "launch/launch_mapping.hpp"

namespace culprit::launch {

namespace {

using Arguments = std::vector<std::vector<std::string>>;  // of each launch, program first

constexpr int kMaxMentions = 64;  // of one setting; each is edited and verified alone

struct Replacement {
  SourceRange range;
  std::string text;
};

Arguments arguments_of(const LaunchScript& script) {
  Arguments all;
  for (const Launch& launch : script.launches) {
    std::vector<std::string> words = {launch.program};
    for (const LaunchWord& word : launch.launcher_args) words.push_back(word.text);
    words.emplace_back();  // between the launcher's and the program's
    for (const LaunchWord& word : launch.args) words.push_back(word.text);
    all.push_back(std::move(words));
  }
  return all;
}

std::size_t first_argument(const Launch& launch) { return launch.launcher_args.size() + 2; }

// The source range of bytes [begin, end) of a word, if they stand together in the script.
std::optional<SourceRange> written_range(const LaunchWord& word, std::size_t begin,
                                         std::size_t end) {
  if (begin >= end || end > word.origin.size() || word.origin[begin] == kNoOrigin)
    return std::nullopt;
  for (std::size_t i = begin; i < end; ++i) {
    if (word.origin[i] != word.origin[begin] + (i - begin)) return std::nullopt;
  }
  return SourceRange{word.origin[begin],
                     word.origin[begin] + static_cast<std::uint32_t>(end - begin)};
}

// The $NAME the bytes came through, if it is the same for all.
std::optional<SourceRange> through_range(const LaunchWord& word, std::size_t begin,
                                         std::size_t end) {
  if (begin >= end || end > word.through.size() || word.through[begin].end == 0)
    return std::nullopt;
  for (std::size_t i = begin; i < end; ++i) {
    if (!(word.through[i] == word.through[begin])) return std::nullopt;
  }
  return word.through[begin];
}

SourceRange with_quotes(std::string_view text, SourceRange range) {
  if (range.begin == 0 || range.end >= text.size()) return range;
  const char before = text[range.begin - 1];
  if ((before == '"' || before == '\'') && text[range.end] == before)
    return {range.begin - 1, range.end + 1};
  return range;
}

// Takes the blanks before the range along, and the whole line if nothing else but a "\" is on it.
SourceRange with_blanks(std::string_view text, SourceRange range) {
  std::uint32_t begin = range.begin;
  while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t')) --begin;
  const bool line_start = begin == 0 || text[begin - 1] == '\n';
  std::uint32_t end = range.end;
  while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
  if (line_start) {
    std::uint32_t after = end;
    if (after < text.size() && text[after] == '\\') ++after;
    if (after < text.size() && text[after] == '\r') ++after;
    if (after < text.size() && text[after] == '\n') return {begin, after + 1};
    return {range.begin, end};
  }
  if (begin == range.begin) return {begin, end};  // first in its quotes: the blanks after it go
  return {begin, range.end};
}

std::string replaced(std::string_view text, std::vector<Replacement> edits) {
  std::sort(edits.begin(), edits.end(), [](const Replacement& a, const Replacement& b) {
    return a.range.begin > b.range.begin;
  });
  std::string result(text);
  for (const Replacement& edit : edits)
    result.replace(edit.range.begin, edit.range.end - edit.range.begin, edit.text);
  return result;
}

std::string off_like(const std::string& on) {
  static constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {"1", "0"},    {"true", "false"}, {"True", "False"}, {"TRUE", "FALSE"}, {"on", "off"},
      {"On", "Off"}, {"ON", "OFF"},     {"yes", "no"},     {"Yes", "No"},     {"YES", "NO"},
      {"y", "n"},    {"t", "f"},        {"Y", "N"},        {"T", "F"}};
  for (const auto& [yes, no] : kPairs) {
    if (on == yes) return std::string(no);
  }
  return {};
}

class Editor {
 public:
  Editor(const LaunchScript& script, const LaunchEdit& edit) : script_(script), edit_(edit) {}

  // The script after the edit; the same text if there is nothing to change.
  LaunchScript run() {
    static constexpr std::string_view kSwitches[] = {
        "skip-c-identity", "async-all-reduce", "recompute", "delay-scale-loss", "release-outputs"};
    static constexpr std::string_view kSizes[] = {"tp", "pp", "acc", "loss-scale"};
    const bool is_switch =
        std::find(std::begin(kSwitches), std::end(kSwitches), edit_.setting) != std::end(kSwitches);
    if (!is_switch &&
        std::find(std::begin(kSizes), std::end(kSizes), edit_.setting) == std::end(kSizes)) {
      throw UsageError(fmt::format(
          "[launch.emit] no setting \"{}\" that a script can be edited for", edit_.setting));
    }
    if (is_switch && edit_.value != "off") {
      throw UsageError(fmt::format("[launch.emit] {}: got \"{}\", expected \"off\"", edit_.setting,
                                   edit_.value));
    }
    LaunchScript current = script_;
    bool found = false;
    // One flag at a time: offsets change with each.
    for (int round = 0;; ++round) {
      const LaunchMapping mapping = map_flags_only(current);
      const MappedFlag* flag = next_flag(mapping, is_switch, found);
      if (flag == nullptr) break;
      if (round == kMaxMentions) refuse(*flag, fmt::format("more than {} mentions", kMaxMentions));
      current = is_switch ? turn_off(current, *flag) : change(current, *flag);
    }
    if (!found && !is_switch) {
      throw UsageError(fmt::format("[launch.emit] {}: no flag of the script gives {}",
                                   script_.path.string(), edit_.setting));
    }
    return current;
  }

 private:
  const MappedFlag* next_flag(const LaunchMapping& mapping, bool is_switch, bool& found) const {
    for (const MappedFlag& flag : mapping.flags) {
      if (setting_name(flag.setting) != edit_.setting) continue;
      if (!flag.known) refuse(flag, "its value is not known: " + flag.note);
      found = true;
      if (is_switch ? is_on(flag) : flag.value != edit_.value) return &flag;
    }
    return nullptr;
  }

  static bool is_on(const MappedFlag& flag) {
    if (flag.setting == Setting::kNoAsyncAllReduce) return false;
    if (flag.setting == Setting::kRecompute || flag.setting == Setting::kReleaseOutputs) {
      return !flag.value || parse_bool(*flag.value).value_or(false);
    }
    return true;
  }

  [[noreturn]] void refuse(const MappedFlag& flag, const std::string& why) const {
    throw UsageError(fmt::format("[launch.emit] {}: line {}: {} can't be changed for {}: {}",
                                 script_.path.string(), flag.line, flag.name, edit_.setting, why));
  }

  LaunchScript turn_off(const LaunchScript& current, const MappedFlag& flag) const {
    check_place(flag);
    const std::string row = normalise_flag(flag.name);
    const bool in_list = row == "tensor_parallel_config" || row == "pipeline_parallel_config";
    if (in_list) return remove_list_word(current, flag);
    if (flag.value && flag.setting != Setting::kRecomputeGranularity) {
      return replace_value(current, flag, off_like(*flag.value));
    }
    return remove_flag(current, flag);
  }

  LaunchScript change(const LaunchScript& current, const MappedFlag& flag) const {
    check_place(flag);
    return replace_value(current, flag, edit_.value);
  }

  void check_place(const MappedFlag& flag) const {
    if (!flag.file.empty()) refuse(flag, "it stands in " + flag.file + ", not in a flag");
  }

  // Reads the text and returns it if its launches are `expected`.
  std::optional<LaunchScript> verified(const std::string& text, const Arguments& expected) const {
    try {
      LaunchScript again = parse_launch_script(text, script_.path);
      if (arguments_of(again) == expected && same_files(again)) return again;
    } catch (const UsageError&) {
      // not this way
    }
    return std::nullopt;
  }

  bool same_files(const LaunchScript& other) const {
    return std::equal(script_.files.begin(), script_.files.end(), other.files.begin(),
                      other.files.end(), [](const LaunchFile& a, const LaunchFile& b) {
                        return a.name == b.name && a.text == b.text;
                      });
  }

  LaunchScript replace_value(const LaunchScript& current, const MappedFlag& flag,
                             const std::string& value) const {
    const Launch& launch = current.launches[flag.launch];
    const LaunchWord& word = launch.args[flag.value_word];
    const auto [begin, end] = flag.value_bytes;
    Arguments expected = arguments_of(current);
    expected[flag.launch][first_argument(launch) + flag.value_word].replace(begin, end - begin,
                                                                            value);
    for (const auto& range : {written_range(word, begin, end), through_range(word, begin, end)}) {
      if (!range) continue;
      if (auto again = verified(replaced(current.text, {{*range, value}}), expected))
        return std::move(*again);
      // The same value may be meant for several launches, or read by several words.
      if (auto again = verified_everywhere(current, flag, *range, value)) return std::move(*again);
    }
    refuse(flag, "its value is computed, or used elsewhere too");
  }

  // As verified(), where the same edit changes the same flag of other launches.
  std::optional<LaunchScript> verified_everywhere(const LaunchScript& current,
                                                  const MappedFlag& flag, SourceRange range,
                                                  const std::string& value) const {
    Arguments expected = arguments_of(current);
    for (const MappedFlag& other : map_flags_only(current).flags) {
      if (other.name != flag.name || other.value_word == kNoWord || !other.file.empty()) continue;
      const Launch& launch = current.launches[other.launch];
      const auto [begin, end] = other.value_bytes;
      expected[other.launch][first_argument(launch) + other.value_word].replace(begin, end - begin,
                                                                                value);
    }
    return verified(replaced(current.text, {{range, value}}), expected);
  }

  LaunchScript remove_list_word(const LaunchScript& current, const MappedFlag& flag) const {
    const Launch& launch = current.launches[flag.launch];
    const LaunchWord& word = launch.args[flag.value_word];
    const auto [begin, end] = flag.value_bytes;
    const bool first = begin == 0 || word.text[begin - 1] == '=';
    // With the separator after it, or before it, or, where both stand elsewhere, alone.
    std::vector<SourceRange> cuts;
    if (end < word.text.size()) cuts.push_back({begin, end + 1});
    if (!first) cuts.push_back({begin - 1, end});
    cuts.push_back({begin, end});
    for (const SourceRange cut : cuts) {
      const auto range = written_range(word, cut.begin, cut.end);
      if (!range) continue;
      std::string left = word.text;
      left.erase(cut.begin, cut.end - cut.begin);
      Arguments here = arguments_of(current);
      here[flag.launch][first_argument(launch) + flag.value_word] = left;
      Arguments everywhere = arguments_of(current);
      for (auto& words : everywhere) std::replace(words.begin(), words.end(), word.text, left);
      // A list that becomes empty stays a word, so that the flag keeps a value.
      for (const char* text : {"", "\"\""}) {
        const std::string edited = replaced(current.text, {{*range, text}});
        if (auto again = verified(edited, here)) return std::move(*again);
        if (auto again = verified(edited, everywhere)) return std::move(*again);
      }
    }
    if (flag.value_word != flag.flag_word && word.text == flag.value &&
        flag.value_word > flag.flag_word + 1) {
      return remove_words(current, flag, flag.value_word,
                          flag.value_word + 1);  // one of several words
    }
    refuse(flag, "the list is used elsewhere too");
  }

  LaunchScript remove_flag(const LaunchScript& current, const MappedFlag& flag) const {
    const bool separate = flag.value_word != kNoWord && flag.value_word != flag.flag_word;
    return remove_words(current, flag, flag.flag_word,
                        separate ? flag.value_word + 1 : flag.flag_word + 1);
  }

  // Removes whole words of a launch. Where they stand in several launches (an array that two
  // commands use), they go from each.
  LaunchScript remove_words(const LaunchScript& current, const MappedFlag& flag, std::size_t first,
                            std::size_t last) const {
    const Launch& launch = current.launches[flag.launch];
    Arguments expected = arguments_of(current);
    const auto at = static_cast<std::ptrdiff_t>(first_argument(launch) + first);
    const std::vector<std::string> gone(
        expected[flag.launch].begin() + at,
        expected[flag.launch].begin() + at + static_cast<std::ptrdiff_t>(last - first));
    Arguments everywhere = expected;
    expected[flag.launch].erase(
        expected[flag.launch].begin() + at,
        expected[flag.launch].begin() + at + static_cast<std::ptrdiff_t>(last - first));
    for (auto& words : everywhere) {
      const auto found = std::search(words.begin(), words.end(), gone.begin(), gone.end());
      if (found != words.end())
        words.erase(found, found + static_cast<std::ptrdiff_t>(gone.size()));
    }
    std::optional<SourceRange> whole;
    for (std::size_t i = first; i < last; ++i) {
      const LaunchWord& word = launch.args[i];
      const auto range = written_range(word, 0, word.text.size());
      if (!whole) {
        if (!range) refuse(flag, "it is put together from several places");
        whole = with_quotes(current.text, *range);
        continue;
      }
      // If the value comes from a variable, the place that names it goes, the variable stays.
      bool follows = false;
      for (const auto& place : {range, through_range(word, 0, word.text.size())}) {
        if (!place || follows) continue;
        const SourceRange quoted = with_quotes(current.text, *place);
        follows = quoted.begin >= whole->end &&
                  current.text.substr(whole->end, quoted.begin - whole->end)
                          .find_first_not_of(" \t\r\n\\") == std::string::npos;
        if (follows) whole->end = quoted.end;
      }
      if (!follows) refuse(flag, "its value is written elsewhere");
    }
    const SourceRange item = with_quotes(current.text, *whole);  // "--flag value" of an array
    for (const SourceRange range :
         {with_blanks(current.text, item), with_blanks(current.text, *whole), *whole}) {
      const std::string text = replaced(current.text, {{range, ""}});
      if (auto again = verified(text, expected)) return std::move(*again);
      if (auto again = verified(text, everywhere)) return std::move(*again);
    }
    refuse(flag, "taking it out changes something else");
  }

  const LaunchScript& script_;
  const LaunchEdit& edit_;
};

}  // namespace

std::string emit_reduced_script(const LaunchScript& script, std::span<const LaunchEdit> edits) {
  LaunchScript current = script;
  for (const LaunchEdit& edit : edits) current = Editor(current, edit).run();
  map_launch(current);  // the whole must still make sense
  return current.text;
}

}  // namespace culprit::launch
