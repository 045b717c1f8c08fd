// Simple commands of a bash script: assignments, redirections, words.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launch/shell_parser.hpp"

namespace culprit::launch::shell {

namespace {
bool declares(const std::string& word) {
  return word == "export" || word == "declare" || word == "local" || word == "readonly" ||
         word == "typeset";
}
}  // namespace

std::shared_ptr<Command> ShellParser::parse_simple() {
  auto command = make(Command::Kind::kSimple);
  while (true) {
    skip_blanks();
    if (at_end() || at_newline()) break;
    const char c = peek();
    const bool redirects_both = looking_at("&>");
    if (c == ';' || c == '|' || c == ')' || (c == '&' && !redirects_both)) break;
    if (parse_redirect(*command)) continue;
    const bool assigns =
        command->words.empty() || (!command->words.empty() && declares(command->words[0].bare()));
    if (assigns && parse_assignment(*command)) continue;
    if (c == '(' && command->words.empty() && !command->assigns.empty() && text_[pos_ - 1] == ' ') {
      // "PATH=<file> (e.g. /data/x)": a remark after a placeholder
      const std::size_t newline = std::min(text_.find('\n', pos_), text_.size());
      if (text_.substr(command->offset, pos_ - command->offset).find('<') !=
          std::string_view::npos) {
        pos_ = static_cast<std::uint32_t>(newline);
        continue;
      }
    }
    if (c == '(') fail(pos_, "unexpected '('");
    const std::uint32_t before = pos_;
    command->words.push_back(read_word());
    if (pos_ == before) fail(pos_, fmt::format("unexpected '{}'", c));
  }
  command->end = pos_;
  return command;
}

// NAME=value, NAME+=value, NAME[i]=value, NAME=( ... ).
bool ShellParser::parse_assignment(Command& command) {
  std::uint32_t at = pos_;
  if (at >= text_.size() || !is_name_start(text_[at])) return false;
  while (at < text_.size() && is_name_char(text_[at])) ++at;
  Assignment assignment;
  assignment.name = std::string(text_.substr(pos_, at - pos_));
  if (at < text_.size() && text_[at] == '[') {
    const std::size_t close = text_.find(']', at);
    if (close == std::string_view::npos ||
        text_.substr(at, close - at).find('\n') != std::string_view::npos) {
      return false;
    }
    assignment.subscript = std::string(text_.substr(at + 1, close - at - 1));
    at = static_cast<std::uint32_t>(close + 1);
  }
  if (at + 1 < text_.size() && text_[at] == '+' && text_[at + 1] == '=') {
    assignment.append = true;
    ++at;
  }
  if (at >= text_.size() || text_[at] != '=') return false;
  assignment.range.begin = pos_;
  pos_ = at + 1;
  if (!at_end() && peek() == '(') {
    const std::uint32_t open = pos_++;
    assignment.is_array = true;
    while (true) {
      skip_newlines();
      if (at_end()) fail(open, "array is not closed");
      if (peek() == ')') break;
      const std::uint32_t before = pos_;
      assignment.elements.push_back(read_word());
      if (pos_ == before) fail(pos_, fmt::format("unexpected '{}' in an array", peek()));
    }
    ++pos_;
  } else {
    assignment.value = read_word();
  }
  assignment.range.end = pos_;
  command.assigns.push_back(std::move(assignment));
  return true;
}

bool ShellParser::parse_redirect(Command& command) {
  if (at_end()) return false;
  std::uint32_t at = pos_;
  while (at < text_.size() && text_[at] >= '0' && text_[at] <= '9') ++at;  // file descriptor
  const std::string_view rest = text_.substr(at);
  if (at > pos_ && !rest.starts_with('<') && !rest.starts_with('>')) return false;
  Redirect redirect;
  for (const std::string_view op :
       {"<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">", "&>>", "&>"}) {
    if (!rest.starts_with(op)) continue;
    redirect.op = std::string(op);
    break;
  }
  if (redirect.op.empty() || (redirect.op == "<" && at == pos_ && placeholder_end() > 0))
    return false;
  if ((redirect.op == "<" || redirect.op == ">") && rest.size() > 1 && rest[1] == '(') return false;
  const bool error_stream = at > pos_ && text_[pos_] != '1';
  pos_ = at + static_cast<std::uint32_t>(redirect.op.size());
  skip_blanks();
  const std::uint32_t target_at = pos_;
  redirect.target = read_word();
  if (pos_ == target_at) fail(target_at, fmt::format("'{}' without a target", redirect.op));
  if (redirect.op == "<<" || redirect.op == "<<-") {
    PendingHereDoc pending;
    pending.offset = target_at;
    pending.strip_tabs = redirect.op == "<<-";
    for (const Part& part : redirect.target.parts) {
      pending.quoted = pending.quoted || part.quoted;
      if (part.kind != Part::Kind::kText)
        fail(target_at, "a here-document's end mark is not literal");
      pending.delimiter += part.text;
    }
    redirect.here = std::make_shared<HereDoc>();
    pending.here = redirect.here;
    pending_.push_back(std::move(pending));
  }
  if (error_stream) redirect.op = "2" + redirect.op;
  command.redirects.push_back(std::move(redirect));
  return true;
}

}  // namespace culprit::launch::shell
