// Commands of a bash script: lists, pipelines, compound commands, assignments, redirections.
#include "launch/shell_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/error.hpp"

namespace culprit::launch::shell {

ShellParser::ShellParser(std::string_view text, std::function<int(std::uint32_t)> line_of)
    : text_(text), line_of_(std::move(line_of)) {}

ShellParser::Nested::Nested(ShellParser& parser) : parser_(parser) {
  if (++parser_.depth_ > kMaxDepth) {
    --parser_.depth_;
    parser_.fail(parser_.pos_, fmt::format("nests deeper than {} levels", kMaxDepth));
  }
}

void ShellParser::fail(std::uint32_t offset, const std::string& what) const {
  throw UsageError(fmt::format("[launch.read] line {}: {}", line_of_(offset), what));
}

bool ShellParser::skip_continuation() {
  if (peek() != '\\' || pos_ + 1 >= text_.size()) return false;
  if (peek(1) == '\n')
    advance(2);
  else if (peek(1) == '\r' && pos_ + 2 < text_.size() && peek(2) == '\n')
    advance(3);
  else
    return false;
  return true;
}

void ShellParser::skip_blanks() {
  while (!at_end()) {
    if (peek() == ' ' || peek() == '\t') {
      ++pos_;
    } else if (!skip_continuation()) {
      break;
    }
  }
  if (!at_end() && peek() == '#') {
    while (!at_end() && peek() != '\n') ++pos_;
  }
}

void ShellParser::eat_newline() {
  advance(peek() == '\r' ? 2 : 1);
  if (!pending_.empty()) read_here_docs();
}

void ShellParser::skip_newlines() {
  skip_blanks();
  while (at_newline()) {
    eat_newline();
    skip_blanks();
  }
}

std::shared_ptr<Command> ShellParser::make(Command::Kind kind) const {
  auto command = std::make_shared<Command>();
  command->kind = kind;
  command->offset = pos_;
  return command;
}

std::shared_ptr<Command> ShellParser::parse() {
  auto list = parse_list({});
  if (!at_end()) fail(pos_, fmt::format("unexpected '{}'", peek()));
  if (!pending_.empty()) fail(pending_[0].offset, "here-document is not closed");
  return list;
}

std::string ShellParser::reserved_ahead() {
  std::uint32_t end = pos_;
  while (end < text_.size() &&
         std::string_view(" \t\r\n;&|<>()\"'$`\\").find(text_[end]) == std::string_view::npos) {
    ++end;
  }
  if (end < text_.size() &&
      std::string_view("\"'$`\\").find(text_[end]) != std::string_view::npos) {
    // "\" before a newline ends the word all the same
    if (text_[end] != '\\' || end + 1 >= text_.size() || text_[end + 1] != '\n') return {};
  }
  return std::string(text_.substr(pos_, end - pos_));
}

bool ShellParser::take_reserved(std::string_view word) {
  skip_newlines();
  if (reserved_ahead() != word) return false;
  advance(static_cast<std::uint32_t>(word.size()));
  return true;
}

void ShellParser::expect_reserved(std::string_view word, std::uint32_t opened_at) {
  if (!take_reserved(word)) fail(opened_at, fmt::format("no matching '{}'", word));
}

std::shared_ptr<Command> ShellParser::parse_list(
    std::initializer_list<std::string_view> terminators) {
  const Nested nested(*this);
  auto list = make(Command::Kind::kSequence);
  while (true) {
    skip_newlines();
    if (at_end() || peek() == ')' || looking_at(";;") || looking_at(";&")) break;
    const std::string word = reserved_ahead();
    if (std::find(terminators.begin(), terminators.end(), word) != terminators.end()) break;
    const std::uint32_t before = pos_;
    list->children.push_back(parse_and_or());
    skip_blanks();
    if (!looking_at(";;") && !looking_at(";&") && (peek() == ';' || peek() == '&') && !at_end())
      ++pos_;
    if (pos_ == before) fail(pos_, fmt::format("unexpected '{}'", peek()));
  }
  list->end = pos_;
  return list;
}

std::shared_ptr<Command> ShellParser::parse_and_or() {
  auto first = parse_pipeline();
  std::shared_ptr<Command> chain;
  while (true) {
    skip_blanks();
    const bool is_and = looking_at("&&");
    if (!is_and && !looking_at("||")) return chain ? chain : first;
    if (!chain) {
      chain = make(Command::Kind::kAndOr);
      chain->offset = first->offset;
      chain->children = {first};
    }
    chain->name.push_back(is_and ? '&' : '|');
    advance(2);
    skip_newlines();
    chain->children.push_back(parse_pipeline());
  }
}

std::shared_ptr<Command> ShellParser::parse_pipeline() {
  skip_blanks();
  while (reserved_ahead() == "time") {  // only measures what follows
    advance(4);
    skip_blanks();
    if (reserved_ahead() == "-p") advance(2);
    skip_blanks();
  }
  if (reserved_ahead() == "!") {
    const Nested nested(*this);
    auto negated = make(Command::Kind::kNot);
    ++pos_;
    negated->children = {parse_pipeline()};
    return negated;
  }
  auto first = parse_command();
  skip_blanks();
  if (peek() != '|' || looking_at("||") || at_end()) return first;
  auto pipeline = make(Command::Kind::kPipeline);
  pipeline->offset = first->offset;
  pipeline->children = {first};
  while (!at_end() && peek() == '|' && !looking_at("||")) {
    advance(looking_at("|&") ? 2 : 1);
    skip_newlines();
    pipeline->children.push_back(parse_command());
    skip_blanks();
  }
  return pipeline;
}

std::shared_ptr<Command> ShellParser::parse_command() {
  const Nested nested(*this);
  skip_blanks();
  std::shared_ptr<Command> command;
  const std::string word = reserved_ahead();
  std::string name;
  if (looking_at("(("))
    command = parse_double_paren();
  else if (peek() == '(' || word == "{")
    command = parse_brace_or_paren();
  else if (word == "[[")
    command = parse_test();
  else if (word == "if")
    command = parse_if();
  else if (word == "for" || word == "select")
    command = parse_for(word);
  else if (word == "while" || word == "until")
    command = parse_while(word == "until");
  else if (word == "case")
    command = parse_case();
  else if (word == "function") {
    advance(8);
    skip_blanks();
    name = reserved_ahead();
    advance(static_cast<std::uint32_t>(name.size()));
    skip_blanks();
    if (looking_at("()")) advance(2);
    command = parse_function(name);
  } else if (function_head_ahead(name)) {
    command = parse_function(name);
  } else {
    return parse_simple();
  }
  skip_blanks();
  while (parse_redirect(*command)) skip_blanks();
  command->end = pos_;
  return command;
}

bool ShellParser::function_head_ahead(std::string& name) {
  name = reserved_ahead();
  if (name.empty() || name.find('=') != std::string::npos) return false;
  std::uint32_t at = pos_ + static_cast<std::uint32_t>(name.size());
  while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
  if (at >= text_.size() || text_[at] != '(') return false;
  for (++at; at < text_.size() && (text_[at] == ' ' || text_[at] == '\t');) ++at;
  if (at >= text_.size() || text_[at] != ')') return false;
  pos_ = at + 1;
  return true;
}

std::shared_ptr<Command> ShellParser::parse_function(std::string name) {
  auto function = make(Command::Kind::kFunction);
  function->name = std::move(name);
  skip_newlines();
  function->children = {parse_command()};
  return function;
}

std::shared_ptr<Command> ShellParser::parse_brace_or_paren() {
  const bool brace = peek() == '{';
  auto group = make(brace ? Command::Kind::kGroup : Command::Kind::kSubshell);
  ++pos_;
  if (brace) {
    group->children = {parse_list({"}"})};
    expect_reserved("}", group->offset);
  } else {
    group->children = {parse_list({})};
    if (at_end() || peek() != ')') fail(group->offset, "no matching ')'");
    ++pos_;
  }
  return group;
}

std::shared_ptr<Command> ShellParser::parse_double_paren() {
  auto arith = make(Command::Kind::kArith);
  advance(2);
  arith->words.push_back(read_arith_until("))"));
  return arith;
}

std::shared_ptr<Command> ShellParser::parse_if() {
  auto command = make(Command::Kind::kIf);
  advance(2);
  while (true) {
    command->children.push_back(parse_list({"then"}));
    expect_reserved("then", command->offset);
    command->children.push_back(parse_list({"elif", "else", "fi"}));
    if (take_reserved("elif")) continue;
    if (take_reserved("else")) command->children.push_back(parse_list({"fi"}));
    expect_reserved("fi", command->offset);
    return command;
  }
}

std::shared_ptr<Command> ShellParser::parse_for(std::string_view keyword) {
  auto command = make(Command::Kind::kFor);
  advance(static_cast<std::uint32_t>(keyword.size()));
  skip_blanks();
  if (looking_at("((")) {
    command->kind = Command::Kind::kLoop;
    advance(2);
    read_arith_until("))");
    command->children.push_back(nullptr);
  } else {
    command->name = reserved_ahead();
    if (command->name.empty()) fail(pos_, "a loop without a variable");
    advance(static_cast<std::uint32_t>(command->name.size()));
    command->bare_for = !take_reserved("in");
    while (!command->bare_for) {
      skip_blanks();
      if (at_end() || at_newline() || peek() == ';') break;
      const std::uint32_t before = pos_;
      command->words.push_back(read_word());
      if (pos_ == before) fail(pos_, fmt::format("unexpected '{}'", peek()));
    }
  }
  skip_blanks();
  if (!at_end() && peek() == ';') ++pos_;
  if (take_reserved("{")) {
    command->children.push_back(parse_list({"}"}));
    expect_reserved("}", command->offset);
    return command;
  }
  expect_reserved("do", command->offset);
  command->children.push_back(parse_list({"done"}));
  expect_reserved("done", command->offset);
  return command;
}

std::shared_ptr<Command> ShellParser::parse_while(bool until) {
  auto command = make(Command::Kind::kLoop);
  command->until = until;
  advance(5);
  command->children.push_back(parse_list({"do"}));
  expect_reserved("do", command->offset);
  command->children.push_back(parse_list({"done"}));
  expect_reserved("done", command->offset);
  return command;
}

std::shared_ptr<Command> ShellParser::parse_case() {
  auto command = make(Command::Kind::kCase);
  advance(4);
  skip_blanks();
  command->words.push_back(read_word());
  expect_reserved("in", command->offset);
  while (!take_reserved("esac")) {
    if (at_end()) fail(command->offset, "no matching 'esac'");
    CaseArm arm;
    if (peek() == '(') ++pos_;
    while (true) {
      skip_blanks();
      const std::uint32_t before = pos_;
      arm.patterns.push_back(read_word());
      skip_blanks();
      if (pos_ == before) fail(pos_, "a case arm without a pattern");
      if (at_end() || peek() != '|') break;
      ++pos_;
    }
    if (at_end() || peek() != ')') fail(pos_, "a case arm without ')'");
    ++pos_;
    arm.body = parse_list({"esac"});
    if (looking_at(";;&"))
      advance(3), arm.falls_through = true;
    else if (looking_at(";;"))
      advance(2);
    else if (looking_at(";&"))
      advance(2), arm.falls_through = true;
    else if (reserved_ahead() != "esac")
      fail(command->offset, "no matching 'esac'");
    command->arms.push_back(std::move(arm));
  }
  return command;
}

std::shared_ptr<Command> ShellParser::parse_test() {
  auto command = make(Command::Kind::kTest);
  advance(2);
  while (true) {
    skip_newlines();
    if (at_end()) fail(command->offset, "no matching ']]'");
    if (reserved_ahead() == "]]") break;
    TestToken token;
    for (const std::string_view op : {"&&", "||", "(", ")", "<", ">"}) {
      if (!looking_at(op)) continue;
      token.op = std::string(op);
      break;
    }
    if (!token.op.empty()) {
      advance(static_cast<std::uint32_t>(token.op.size()));
    } else {
      const std::uint32_t before = pos_;
      token.word = read_word();
      // A regular expression may hold bare metacharacters; it is not evaluated, only passed over.
      if (!command->test.empty() && command->test.back().word.bare() == "=~") {
        while (!at_end() && peek() != ' ' && !at_newline()) ++pos_;
      }
      if (pos_ == before) fail(pos_, fmt::format("unexpected '{}' in [[ ]]", peek()));
    }
    command->test.push_back(std::move(token));
  }
  advance(2);
  return command;
}

}  // namespace culprit::launch::shell
