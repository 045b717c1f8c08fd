// JSON configurations of a launch: DeepSpeed's, and files that hold a program's arguments.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "launch/launch_flags.hpp"

namespace culprit::launch {

namespace {

using Json = nlohmann::ordered_json;

// A key's line: where its name first stands in quotes at or after `from`.
int key_line(const std::string& text, const std::string& key, std::size_t from, std::size_t& at) {
  at = text.find('"' + key + '"', from);
  return at == std::string::npos ? 0 : line_of(text, static_cast<std::uint32_t>(at));
}

MappedFlag unreadable(const LaunchFile& file, int used_line, const std::string& why) {
  MappedFlag flag;
  flag.name = file.name;
  flag.line = used_line;
  flag.known = false;
  flag.note = "configuration file: " + why;
  return flag;
}

class ConfigReader {
 public:
  ConfigReader(const LaunchFile& file, bool as_flags, std::size_t launch,
               std::vector<MappedFlag>& flags)
      : file_(file), as_flags_(as_flags), launch_(launch), flags_(flags) {}

  void read(const Json& object, const std::string& prefix, std::size_t from) {
    for (const auto& [key, value] : object.items()) {
      const std::string path = prefix + key;
      std::size_t at = 0;
      const int line = key_line(file_.text, key, from, at);
      const FlagRow* row = as_flags_ ? find_flag(path) : find_config_key(path);
      if (!as_flags_ && prefix.empty() && value.is_object()) {
        const std::size_t before = flags_.size();
        if (row != nullptr) add(row, path, "{...}", line, true);
        read(value, path + ".", at == std::string::npos ? from : at);
        if (row == nullptr && flags_.size() == before) add(nullptr, path, "{}", line, true);
        continue;
      }
      // Keys below the first level are only looked at where a row asks for them.
      if (!prefix.empty() && row == nullptr) continue;
      const bool known = !value.is_null();
      const std::string shown = value.is_string()
                                    ? value.get<std::string>()
                                    : value.dump(-1, ' ', false, Json::error_handler_t::replace);
      add(row, path, shown, line, known);
      if (row != nullptr && row->setting == Setting::kWordList) {
        const MappedFlag list = flags_.back();
        collect_list_words(*row, list, shown, 0, flags_);
      }
    }
  }

 private:
  void add(const FlagRow* row, const std::string& path, const std::string& value, int line,
           bool known) {
    // The text of a here-document starts on the line after the command that writes it.
    MappedFlag flag = from_row(row, "configuration keys", path,
                               file_.in_script && line > 0 ? file_.line + line : line);
    flag.value = value;
    flag.known = known;
    flag.file = file_.name;
    flag.launch = launch_;
    if (!known) {
      flag.note = "the value is not known";
      if (flag.cls != FlagClass::kRecognised) flag.cls = FlagClass::kUnknown;
    }
    flags_.push_back(std::move(flag));
  }

  const LaunchFile& file_;
  bool as_flags_;
  std::size_t launch_;
  std::vector<MappedFlag>& flags_;
};

}  // namespace

void collect_config(const LaunchFile& file, bool as_flags, std::size_t launch, int used_line,
                    std::vector<MappedFlag>& flags) {
  if (!file.known) {
    flags.push_back(unreadable(file, used_line, file.why_unknown));
    return;
  }
  const Json json =
      Json::parse(file.text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (!json.is_object()) {
    flags.push_back(unreadable(file, used_line, "not a JSON object that can be read"));
    return;
  }
  ConfigReader(file, as_flags, launch, flags).read(json, "", 0);
}

}  // namespace culprit::launch
