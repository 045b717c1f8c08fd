// Splits a launch's arguments into flags and values and gives each its row.
#include "launch/launch_flags.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace culprit::launch {

namespace {

bool is_flag(const LaunchWord& word) {
  if (!word.text.starts_with("-") || word.text.size() < 2) return false;
  const char next = word.text[1];
  return next == '-' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
}

bool is_yaml(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

class Collector {
 public:
  Collector(const LaunchScript& script, std::size_t launch, std::vector<MappedFlag>& flags)
      : script_(script), launch_(launch), args_(script.launches[launch].args), flags_(flags) {}

  void run() {
    for (std::size_t i = 0; i < args_.size();) {
      i = is_override(i) ? overrides(i) : is_flag(args_[i]) ? flag(i) : positional(i);
    }
  }

 private:
  // -o KEY=VALUE, with a key of several parts.
  bool is_override(std::size_t i) const {
    if (args_[i].text != "-o" || i + 1 >= args_.size()) return false;
    const std::string& next = args_[i + 1].text;
    const std::size_t equals = next.find('=');
    return equals != std::string::npos && next.find('.') < equals;
  }

  std::size_t overrides(std::size_t i) {
    const std::size_t flag_word = i;
    for (++i; i < args_.size() && !is_flag(args_[i]); ++i) {
      const LaunchWord& word = args_[i];
      const std::size_t equals = word.text.find('=');
      if (equals == std::string::npos) break;
      const std::string key = word.text.substr(0, equals);
      MappedFlag flag = from_row(find_override(key), "keys after -o", "-o " + key, word.line);
      flag.value = word.text.substr(equals + 1);
      flag.launch = launch_;
      flag.flag_word = flag_word;
      flag.value_word = i;
      flag.value_bytes = {static_cast<std::uint32_t>(equals + 1),
                          static_cast<std::uint32_t>(word.text.size())};
      if (!word.known) {
        set_unknown(flag, word.why_unknown);
        if (flag.cls != FlagClass::kRecognised) flag.cls = FlagClass::kUnknown;
      }
      flags_.push_back(std::move(flag));
    }
    return i;
  }

  std::size_t positional(std::size_t i) {
    const LaunchWord& word = args_[i];
    if (const LaunchFile* file = find_launch_file(script_, word.text)) {
      // A program that takes its arguments from a file: Paddle's parsers do so for JSON.
      collect_config(*file, /*as_flags=*/true, launch_, word.used_line, flags_);
      return i + 1;
    }
    if (word.known && word.text == "--") return i + 1;
    MappedFlag flag = from_row(nullptr, "flags", word.text, word.used_line);
    flag.launch = launch_;
    flag.flag_word = i;
    flag.known = word.known && !is_yaml(word.text);
    flag.note = !word.known   ? word.why_unknown
                : !flag.known ? "a YAML file, which is not read"
                              : "an argument that is no flag";
    flags_.push_back(std::move(flag));
    return i + 1;
  }

  std::size_t flag(std::size_t i) {
    const LaunchWord& word = args_[i];
    const std::size_t equals = word.text.find('=');
    const FlagRow* row = word.text.starts_with("--") ? find_flag(word.text) : nullptr;
    MappedFlag flag = from_row(row, "flags", word.text.substr(0, equals), word.line);
    flag.launch = launch_;
    flag.flag_word = i;
    std::size_t next = i + 1;
    if (equals != std::string::npos) {
      flag.value = word.text.substr(equals + 1);
      flag.value_word = i;
      flag.value_bytes = {static_cast<std::uint32_t>(equals + 1),
                          static_cast<std::uint32_t>(word.text.size())};
      if (!word.known) set_unknown(flag, word.why_unknown);
    } else {
      const Arity arity = row != nullptr ? row->arity : Arity::kMany;
      const std::size_t most = arity == Arity::kNone ? 0 : arity == Arity::kMany ? args_.size() : 1;
      while (next < args_.size() && next - i <= most && !is_flag(args_[next])) {
        if (arity != Arity::kOne && may_be_flags(args_[next], args_[next - 1])) break;
        take_value(flag, next);
        ++next;
      }
      if (arity == Arity::kOne && !flag.value) set_unknown(flag, "has no value");
      if (row == nullptr && flag.value && is_yaml(*flag.value))
        set_unknown(flag, "a YAML file, which is not read");
    }
    emit(row, std::move(flag));
    return next;
  }

  // A wholly unknown word is a value only where it is written right after the flag (--recompute
  // $R); one that comes from elsewhere may be flags, or nothing.
  bool may_be_flags(const LaunchWord& word, const LaunchWord& before) const {
    if (word.known || before.origin.empty() || before.origin.back() == kNoOrigin) return false;
    for (const std::uint32_t origin : word.origin) {
      if (origin != kNoOrigin) return false;
    }
    const std::uint32_t end = before.origin.back() + 1;
    const auto follows = [&](SourceRange site) {
      return site.end != 0 && site.begin >= end &&
             script_.text.substr(end, site.begin - end).find_first_not_of(" \t\r\n\\\"'") ==
                 std::string::npos;
    };
    return !follows(word.written) && std::none_of(word.sites.begin(), word.sites.end(), follows);
  }

  void take_value(MappedFlag& flag, std::size_t i) {
    const LaunchWord& word = args_[i];
    if (!flag.value) {
      flag.value = word.text;
      flag.value_word = i;
      flag.value_bytes = {0, static_cast<std::uint32_t>(word.text.size())};
    } else {
      *flag.value += " " + word.text;
    }
    if (!word.known) set_unknown(flag, word.why_unknown);
  }

  static void set_unknown(MappedFlag& flag, const std::string& why) {
    if (!flag.known) return;
    flag.known = false;
    flag.note = why;
  }

  void emit(const FlagRow* row, MappedFlag flag) {
    if (!flag.known && flag.cls != FlagClass::kRecognised) flag.cls = FlagClass::kUnknown;
    const Setting setting = flag.setting;
    flags_.push_back(flag);
    if (setting == Setting::kWordList && flag.value_word != kNoWord) {
      // A value of several words: each is looked at where it stands.
      std::size_t i = flag.value_word;
      std::uint32_t offset = flag.value_bytes.begin;
      while (i < args_.size() && (i == flag.value_word || !is_flag(args_[i]))) {
        MappedFlag part = flag;
        part.value_word = i;
        if (args_[i].known)
          collect_list_words(*row, part, args_[i].text.substr(offset), offset, flags_);
        offset = 0;
        if (flag.value_word == flag.flag_word) break;
        ++i;
      }
    }
    if (setting == Setting::kConfigFile && flag.value) {
      if (const LaunchFile* file = find_launch_file(script_, *flag.value)) {
        // A name with a job's number in it does not matter where the script wrote the file.
        flags_.back().known = flags_.back().known || file->known;
        collect_config(*file, /*as_flags=*/false, launch_, flag.line, flags_);
      }
    }
  }

  const LaunchScript& script_;
  std::size_t launch_;
  const std::vector<LaunchWord>& args_;
  std::vector<MappedFlag>& flags_;
};

}  // namespace

MappedFlag from_row(const FlagRow* row, const std::string& table, std::string name, int line) {
  MappedFlag flag;
  flag.name = std::move(name);
  flag.line = line;
  if (row == nullptr) {
    flag.note = "not in the table of " + table;
    return flag;
  }
  flag.cls = row->cls;
  flag.setting = row->setting;
  flag.dialects = row->dialects;
  flag.note = std::string(row->meaning);
  return flag;
}

void collect_list_words(const FlagRow& list, const MappedFlag& flag, const std::string& value,
                        std::uint32_t offset, std::vector<MappedFlag>& flags) {
  static constexpr std::string_view kSeparators = " ,\t\n";
  std::size_t i = 0;
  while ((i = value.find_first_not_of(kSeparators, i)) != std::string::npos) {
    const std::size_t end = std::min(value.find_first_of(kSeparators, i), value.size());
    const std::string word = value.substr(i, end - i);
    MappedFlag part = from_row(find_list_word(list.name, word), "flags", flag.name, flag.line);
    if (part.dialects == 0) part.note = "not a word of this list that is in the table";
    part.value = word;
    part.file = flag.file;
    part.launch = flag.launch;
    part.flag_word = flag.flag_word;
    part.value_word = flag.value_word;
    part.value_bytes = {offset + static_cast<std::uint32_t>(i),
                        offset + static_cast<std::uint32_t>(end)};
    flags.push_back(std::move(part));
    i = end;
  }
}

void collect_flags(const LaunchScript& script, std::size_t launch, std::vector<MappedFlag>& flags) {
  Collector(script, launch, flags).run();
}

const LaunchFile* find_launch_file(const LaunchScript& script, const std::string& name) {
  for (const LaunchFile& file : script.files) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

std::optional<bool> parse_bool(const std::string& text) {
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  static constexpr std::array<std::string_view, 6> kTrue = {"1", "true", "on", "yes", "y", "t"};
  static constexpr std::array<std::string_view, 6> kFalse = {"0", "false", "off", "no", "n", "f"};
  if (std::find(kTrue.begin(), kTrue.end(), lower) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), lower) != kFalse.end()) return false;
  return std::nullopt;
}

}  // namespace culprit::launch
