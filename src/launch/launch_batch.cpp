// #SBATCH lines.
#include "launch/launch_batch.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace culprit::launch {

namespace {

struct Option {
  std::string_view long_name;
  std::string_view short_name;  // empty if none
  std::optional<BatchNumber> BatchRequest::*member;
};
constexpr Option kOptions[] = {
    {"--nodes", "-N", &BatchRequest::nodes},
    {"--ntasks", "-n", &BatchRequest::tasks},
    {"--ntasks-per-node", "", &BatchRequest::tasks_per_node},
    {"--tasks-per-node", "", &BatchRequest::tasks_per_node},
    {"--gpus-per-node", "", &BatchRequest::gpus_per_node},
};

struct Word {
  std::string_view text;
  std::size_t offset = 0;  // in the script
};

std::vector<Word> words_of(std::string_view line, std::size_t offset) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t\r", i);
    if (begin == std::string_view::npos || line[begin] == '#') break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back({line.substr(begin, end - begin), offset + begin});
    i = end;
  }
  return words;
}

std::optional<BatchNumber> number_of(Word word, int line) {
  // "a100:8": a kind of GPU before the number
  if (const std::size_t colon = word.text.rfind(':'); colon != std::string_view::npos) {
    word.text.remove_prefix(colon + 1);
    word.offset += colon + 1;
  }
  BatchNumber number{.line = line,
                     .written = {static_cast<std::uint32_t>(word.offset),
                                 static_cast<std::uint32_t>(word.offset + word.text.size())}};
  const char* end = word.text.data() + word.text.size();
  const auto [stop, error] = std::from_chars(word.text.data(), end, number.value);
  if (error != std::errc() || stop != end || number.value < 1) return std::nullopt;
  return number;
}

void read_line(std::string_view line, std::size_t offset, int at_line, BatchRequest& request) {
  const std::vector<Word> words = words_of(line, offset);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    for (const Option& option : kOptions) {
      const bool short_form = !option.short_name.empty() &&
                              word.text.starts_with(option.short_name) &&
                              !word.text.starts_with("--");
      Word value;
      if (word.text == option.long_name || (short_form && word.text == option.short_name)) {
        if (i + 1 < words.size()) value = words[i + 1];
      } else if (word.text.starts_with(option.long_name) &&
                 word.text[option.long_name.size()] == '=') {
        value = {word.text.substr(option.long_name.size() + 1),
                 word.offset + option.long_name.size() + 1};
      } else if (short_form) {
        value = {word.text.substr(option.short_name.size()),
                 word.offset + option.short_name.size()};
      } else {
        continue;
      }
      request.*option.member = number_of(value, at_line);
    }
  }
}

}  // namespace

BatchRequest read_batch_request(std::string_view script) {
  constexpr std::string_view kMark = "#SBATCH";
  BatchRequest request;
  int at_line = 0;
  for (std::size_t begin = 0; begin < script.size();) {
    ++at_line;
    const std::size_t end = std::min(script.find('\n', begin), script.size());
    const std::string_view line = script.substr(begin, end - begin);
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') break;
    if (line.starts_with(kMark))
      read_line(line.substr(kMark.size()), begin + kMark.size(), at_line, request);
    begin = end + 1;
  }
  return request;
}

std::vector<BatchVariable> batch_variables(const BatchRequest& request) {
  std::vector<BatchVariable> variables;
  const auto add = [&](std::initializer_list<const char*> names,
                       const std::optional<BatchNumber>& number) {
    if (!number) return;
    for (const char* name : names) variables.push_back({name, *number});
  };
  add({"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}, request.nodes);
  add({"SLURM_NTASKS_PER_NODE"}, request.tasks_per_node);
  add({"SLURM_GPUS_PER_NODE"}, request.gpus_per_node);
  std::optional<BatchNumber> tasks = request.tasks;
  if (!tasks && request.nodes && request.tasks_per_node) {
    tasks = BatchNumber{.value = request.nodes->value * request.tasks_per_node->value,
                        .line = request.tasks_per_node->line,
                        .written = {}};
  }
  add({"SLURM_NTASKS", "SLURM_NPROCS"}, tasks);
  return variables;
}

std::string describe(const BatchRequest& request) {
  std::string text;
  for (const Option& option : kOptions) {
    const std::optional<BatchNumber>& number = request.*option.member;
    if (!number || option.long_name == "--tasks-per-node") continue;
    text += fmt::format("{}{} {} (line {})", text.empty() ? "" : ", ", option.long_name.substr(2),
                        number->value, number->line);
  }
  return text;
}

}  // namespace culprit::launch
