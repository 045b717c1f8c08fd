// Words of a bash script: quoting, expansions, here-document bodies.
#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.hpp"
#include "launch/shell_parser.hpp"

namespace culprit::launch::shell {

namespace {
bool ends_word(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '<' ||
         c == '>' || c == '(' || c == ')';
}
}  // namespace

void ShellParser::add_byte(ShellWord& word, bool quoted, std::uint32_t offset, char byte) const {
  if (word.parts.empty() || word.parts.back().kind != Part::Kind::kText ||
      word.parts.back().quoted != quoted) {
    Part part;
    part.quoted = quoted;
    part.range = {offset, offset};
    word.parts.push_back(std::move(part));
  }
  Part& part = word.parts.back();
  part.text.push_back(byte);
  part.at.push_back(offset);
  part.range.end = offset + 1;
}

ShellWord ShellParser::read_word() {
  const Nested nested(*this);
  ShellWord word;
  word.range.begin = pos_;
  while (!at_end()) {
    const char c = peek();
    if (c == '\\') {
      if (skip_continuation()) continue;
      if (pos_ + 1 < text_.size()) add_byte(word, true, pos_ + 1, peek(1));
      advance(2);
    } else if (c == '\'') {
      read_single_quoted(word);
    } else if (c == '"') {
      read_double_quoted(word);
    } else if (c == '$') {
      read_dollar(word, false);
    } else if (c == '`') {
      read_backtick(word, false);
    } else if ((c == '<' && placeholder_end() > 0) ||
               ((c == '<' || c == '>') && peek(1) == '(' && pos_ == word.range.begin)) {
      const bool placeholder = peek(1) != '(';  // else process substitution
      const std::uint32_t end = placeholder ? placeholder_end() : skip_balanced(pos_ + 2);
      Part part;
      part.kind = Part::Kind::kCommand;
      part.quoted = placeholder;
      part.range = {pos_, end};
      part.text = std::string(text_.substr(pos_, end - pos_));
      word.parts.push_back(std::move(part));
      pos_ = end;
    } else if (ends_word(c) || at_newline()) {
      break;
    } else {
      add_byte(word, false, pos_, c);
      ++pos_;
    }
  }
  word.range.end = pos_;
  return word;
}

// Published scripts leave values as <path to file>, which bash would refuse. Told from a
// redirection by its text: it starts with a letter, and no blank stands before its end or a letter
// after it.
std::uint32_t ShellParser::placeholder_end() const {
  if (!is_name_start(peek(1))) return 0;
  for (std::uint32_t i = pos_ + 2; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '>') {
      const char next = i + 1 < text_.size() ? text_[i + 1] : '\n';
      const bool ends = std::string_view(" \t\r\n/_.\"").find(next) != std::string_view::npos;
      return ends && text_[i - 1] != ' ' ? i + 1 : 0;
    }
    if (c == '\n' || c == '<' || c == '"' || c == '\'' || c == '$' || c == ';' || c == '|' ||
        c == '&')
      return 0;
  }
  return 0;
}

void ShellParser::read_single_quoted(ShellWord& word) {
  const std::uint32_t open = pos_;
  const std::size_t close = text_.find('\'', open + 1);
  if (close == std::string_view::npos) fail(open, "unterminated single quote");
  Part part;
  part.quoted = true;
  part.range = {open, static_cast<std::uint32_t>(close + 1)};
  for (std::uint32_t i = open + 1; i < close; ++i) {
    part.text.push_back(text_[i]);
    part.at.push_back(i);
  }
  word.parts.push_back(std::move(part));
  pos_ = static_cast<std::uint32_t>(close + 1);
}

// The byte that the escape after a backslash stands for; the position is left on its last
// character.
char ShellParser::read_ansi_escape() {
  constexpr std::pair<char, char> kSingle[] = {{'n', '\n'},   {'t', '\t'}, {'r', '\r'},
                                               {'a', '\a'},   {'b', '\b'}, {'e', '\x1b'},
                                               {'E', '\x1b'}, {'f', '\f'}, {'v', '\v'}};
  for (const auto& [name, byte] : kSingle) {
    if (peek() == name) return byte;
  }
  const bool hex = peek() == 'x';
  if (!hex && (peek() < '0' || peek() > '7')) return peek();
  const std::string_view digits = text_.substr(hex ? pos_ + 1 : pos_, hex ? 2 : 3);
  unsigned value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 8);
  if (error != std::errc()) return peek();
  pos_ += static_cast<std::uint32_t>(end - digits.data()) - (hex ? 0 : 1);
  return static_cast<char>(value & 0xFFU);
}

void ShellParser::read_ansi_quoted(ShellWord& word) {
  const std::uint32_t open = pos_;
  Part part;
  part.quoted = true;
  for (advance(2); peek() != '\'' || at_end(); ++pos_) {
    if (at_end()) fail(open, "unterminated $'...' quote");
    char byte = peek();
    if (byte == '\\' && pos_ + 1 < text_.size()) {
      ++pos_;
      byte = read_ansi_escape();
      if (byte == '\0') continue;  // the script can hold none; bash ends the string there
    }
    part.text.push_back(byte);
    part.at.push_back(pos_);
  }
  ++pos_;
  part.range = {open, pos_};
  word.parts.push_back(std::move(part));
}

void ShellParser::read_double_quoted(ShellWord& word) {
  const std::uint32_t open = pos_++;
  // An empty part first, so that "" is a word of its own.
  Part part;
  part.quoted = true;
  part.range = {open, open + 1};
  word.parts.push_back(std::move(part));
  while (true) {
    if (at_end()) fail(open, "unterminated double quote");
    const char c = peek();
    if (c == '"') break;
    if (c == '\\' && skip_continuation()) continue;
    if (c == '\\' && (peek(1) == '"' || peek(1) == '\\' || peek(1) == '$' || peek(1) == '`')) {
      add_byte(word, true, pos_ + 1, peek(1));
      advance(2);
    } else if (c == '$') {
      read_dollar(word, true);
    } else if (c == '`') {
      read_backtick(word, true);
    } else {
      add_byte(word, true, pos_, c);
      ++pos_;
    }
  }
  ++pos_;
}

void ShellParser::read_backtick(ShellWord& word, bool quoted) {
  const std::uint32_t open = pos_++;
  while (!at_end() && peek() != '`') advance(peek() == '\\' ? 2 : 1);
  if (at_end()) fail(open, "unterminated backtick");
  ++pos_;
  Part part;
  part.kind = Part::Kind::kCommand;
  part.quoted = quoted;
  part.range = {open, pos_};
  part.text = std::string(text_.substr(open, pos_ - open));
  word.parts.push_back(std::move(part));
}

std::uint32_t ShellParser::skip_balanced(std::uint32_t from) const {
  int open = 1;
  for (std::uint32_t i = from; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '\\') {
      ++i;
    } else if (c == '\'' || c == '`') {
      const std::size_t close = text_.find(c, i + 1);
      if (close == std::string_view::npos) fail(i, "unterminated quote in a command substitution");
      i = static_cast<std::uint32_t>(close);
    } else if (c == '"') {
      // A quote inside of $(...) inside of the quotes belongs to the inner command.
      int inner = 0;
      for (++i; i < text_.size() && (text_[i] != '"' || inner > 0); ++i) {
        if (text_[i] == '\\')
          ++i;
        else if (text_[i] == '$' && i + 1 < text_.size() && text_[i + 1] == '(')
          ++inner;
        else if (text_[i] == ')' && inner > 0)
          --inner;
      }
    } else if (c == '(') {
      ++open;
    } else if (c == ')' && --open == 0) {
      return i + 1;
    }
  }
  fail(from, "unterminated command substitution");
}

void ShellParser::read_dollar(ShellWord& word, bool quoted) {
  const std::uint32_t open = pos_;
  Part part;
  part.quoted = quoted;
  const char next = pos_ + 1 < text_.size() ? text_[pos_ + 1] : '\0';
  if (next == '{') return read_param(word, quoted);
  if (next == '\'' && !quoted) return read_ansi_quoted(word);
  if (next == '"' && !quoted) {
    ++pos_;
    return read_double_quoted(word);
  }
  if (next == '(' && peek(2) == '(') {
    const std::uint32_t end = skip_balanced(pos_ + 2);
    if (text_[end - 2] == ')') {
      part.kind = Part::Kind::kArith;
      advance(3);
      part.operand = std::make_shared<ShellWord>(read_arith_until("))"));
      part.range = {open, pos_};
      word.parts.push_back(std::move(part));
      return;
    }
  }
  if (next == '(') {
    part.kind = Part::Kind::kCommand;
    pos_ = skip_balanced(pos_ + 2);
    part.text = std::string(text_.substr(open, pos_ - open));
  } else if (is_name_start(next)) {
    part.kind = Part::Kind::kParam;
    for (++pos_; !at_end() && is_name_char(peek()); ++pos_) part.name.push_back(peek());
  } else if ((next >= '0' && next <= '9') ||
             (next != '\0' && std::string_view("@*#?$!-").find(next) != std::string_view::npos)) {
    part.kind = Part::Kind::kParam;
    part.name = std::string(1, next);
    advance(2);
  } else {
    add_byte(word, quoted, pos_, '$');
    ++pos_;
    return;
  }
  part.range = {open, pos_};
  word.parts.push_back(std::move(part));
}

void ShellParser::read_param(ShellWord& word, bool quoted) {
  const std::uint32_t open = pos_;
  Part part;
  part.kind = Part::Kind::kParam;
  part.quoted = quoted;
  advance(2);
  if (!at_end() && peek() == '}') {  // "${}": bash refuses it only where it expands it
    ++pos_;
    part.kind = Part::Kind::kCommand;
    part.range = {open, pos_};
    part.text = "${}";
    word.parts.push_back(std::move(part));
    return;
  }
  if (peek() == '#' && peek(1) != '}') {
    part.op = "len";
    ++pos_;
  } else if (peek() == '!') {
    part.op = "indirect";
    ++pos_;
  }
  if (!at_end() && is_name_start(peek())) {
    for (; !at_end() && is_name_char(peek()); ++pos_) part.name.push_back(peek());
  } else {
    for (; !at_end() && peek() >= '0' && peek() <= '9'; ++pos_) part.name.push_back(peek());
    if (part.name.empty() && !at_end()) part.name = std::string(1, text_[pos_++]);
  }
  if (peek() == '[') {
    const std::size_t close = text_.find(']', pos_);
    if (close == std::string_view::npos) fail(open, "unterminated ${...}");
    part.subscript = std::string(text_.substr(pos_ + 1, close - pos_ - 1));
    pos_ = static_cast<std::uint32_t>(close + 1);
  }
  if (peek() != '}') {
    static constexpr std::string_view kOperators[] = {":-", ":=", ":+", ":?", "-", "=",  "+",
                                                      "?",  "%%", "%",  "##", "#", "//", "/",
                                                      "^^", "^",  ",,", ",",  ":", "@",  "*"};
    for (const std::string_view op : kOperators) {
      if (!looking_at(op)) continue;
      if (part.op.empty()) part.op = std::string(op);
      advance(static_cast<std::uint32_t>(op.size()));
      break;
    }
    part.operand = std::make_shared<ShellWord>(read_until_brace(quoted));
  }
  if (at_end() || peek() != '}') fail(open, "unterminated ${...}");
  ++pos_;
  part.range = {open, pos_};
  word.parts.push_back(std::move(part));
}

ShellWord ShellParser::read_until_brace(bool quoted) {
  const Nested nested(*this);
  ShellWord word;
  word.range.begin = pos_;
  while (!at_end() && peek() != '}') {
    const char c = peek();
    if (c == '\\') {
      if (skip_continuation()) continue;
      if (pos_ + 1 < text_.size()) add_byte(word, true, pos_ + 1, peek(1));
      advance(2);
    } else if (c == '\'' && !quoted) {
      read_single_quoted(word);
    } else if (c == '"') {
      read_double_quoted(word);
    } else if (c == '$') {
      read_dollar(word, quoted);
    } else if (c == '`') {
      read_backtick(word, quoted);
    } else {
      add_byte(word, quoted, pos_, c);
      ++pos_;
    }
  }
  word.range.end = pos_;
  return word;
}

// Quotes have no meaning in arithmetic, parentheses nest.
ShellWord ShellParser::read_arith_until(std::string_view close) {
  const Nested nested(*this);
  const std::uint32_t open = pos_;
  ShellWord word;
  word.range.begin = pos_;
  int parens = 0;
  while (true) {
    if (at_end()) fail(open, "unterminated arithmetic expression");
    const char c = peek();
    if (parens == 0 && looking_at(close)) break;
    if (c == '\\' && skip_continuation()) continue;
    if (c == '$') {
      read_dollar(word, true);
      continue;
    }
    if (c == '(') ++parens;
    if (c == ')') --parens;
    if (c == '`') {
      read_backtick(word, true);
      continue;
    }
    if (c != '"') add_byte(word, true, pos_, c);
    ++pos_;
  }
  word.range.end = pos_;
  advance(static_cast<std::uint32_t>(close.size()));
  return word;
}

void ShellParser::read_here_docs() {
  std::vector<PendingHereDoc> pending = std::move(pending_);
  pending_.clear();
  for (const PendingHereDoc& doc : pending) {
    const std::uint32_t begin = pos_;
    std::uint32_t end = begin;
    bool closed = false;
    while (!closed && !at_end()) {
      end = pos_;
      const std::size_t newline = text_.find('\n', pos_);
      const std::size_t stop = newline == std::string_view::npos ? text_.size() : newline;
      std::string_view line = text_.substr(pos_, stop - pos_);
      if (line.ends_with('\r')) line.remove_suffix(1);
      while (doc.strip_tabs && line.starts_with('\t')) line.remove_prefix(1);
      closed = line == doc.delimiter;
      pos_ = static_cast<std::uint32_t>(std::min(stop + 1, text_.size()));
    }
    if (!closed) fail(doc.offset, "here-document is not closed");
    doc.here->body = here_body(begin, end, doc);
  }
}

ShellWord ShellParser::here_body(std::uint32_t begin, std::uint32_t end,
                                 const PendingHereDoc& doc) {
  // A parser of its own over the same text up to `end`, so that offsets stay those of the script.
  ShellParser inner(text_.substr(0, end), line_of_);
  inner.depth_ = depth_;
  inner.pos_ = begin;
  ShellWord word;
  word.range = {begin, end};
  bool line_start = true;
  while (!inner.at_end()) {
    const char c = inner.peek();
    if (line_start && doc.strip_tabs && c == '\t') {
      ++inner.pos_;
      continue;
    }
    line_start = c == '\n';
    if (!doc.quoted && c == '\\' && inner.skip_continuation()) continue;
    if (!doc.quoted && c == '\\' &&
        (inner.peek(1) == '$' || inner.peek(1) == '\\' || inner.peek(1) == '`')) {
      inner.add_byte(word, true, inner.pos_ + 1, inner.peek(1));
      inner.advance(2);
    } else if (!doc.quoted && c == '$') {
      inner.read_dollar(word, true);
    } else if (!doc.quoted && c == '`') {
      inner.read_backtick(word, true);
    } else {
      inner.add_byte(word, true, inner.pos_, c);
      ++inner.pos_;
    }
  }
  return word;
}

}  // namespace culprit::launch::shell
