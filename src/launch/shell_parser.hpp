// Recursive-descent parser: text of a bash script -> Command tree. Words are read in
// shell_words.cpp, commands in shell_parser.cpp. One object parses one text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launch/shell_ast.hpp"

namespace culprit::launch::shell {

class ShellParser {
 public:
  // `text` must outlive the parser (not the tree). `line_of` turns an offset into a script line.
  ShellParser(std::string_view text, std::function<int(std::uint32_t)> line_of);

  // Throws UsageError with a line: unterminated quote or block, a token bash would refuse, or
  // nesting deeper than kMaxDepth.
  std::shared_ptr<Command> parse();

  static constexpr int kMaxDepth = 100;

 private:
  struct PendingHereDoc {
    std::shared_ptr<HereDoc> here;
    std::string delimiter;
    bool quoted = false;
    bool strip_tabs = false;
    std::uint32_t offset = 0;
  };
  class Nested {  // counts nesting for its lifetime
   public:
    explicit Nested(ShellParser& parser);
    ~Nested() { --parser_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    ShellParser& parser_;
  };

  // characters
  void advance(std::size_t num_bytes) {
    pos_ = static_cast<std::uint32_t>(std::min(pos_ + num_bytes, text_.size()));
  }
  bool at_end() const { return pos_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\n';
  }
  bool looking_at(std::string_view token) const {
    return text_.substr(pos_, token.size()) == token;
  }
  bool at_newline() const {
    return !at_end() && (peek() == '\n' || (peek() == '\r' && peek(1) == '\n'));
  }
  bool skip_continuation();  // backslash-newline
  void skip_blanks();        // blanks, continuations, a comment
  void skip_newlines();      // and blanks, reading pending here-documents
  void eat_newline();
  [[noreturn]] void fail(std::uint32_t offset, const std::string& what) const;

  // words (shell_words.cpp)
  ShellWord read_word();
  void read_dollar(ShellWord& word, bool quoted);
  void read_param(ShellWord& word, bool quoted);
  void read_single_quoted(ShellWord& word);
  void read_ansi_quoted(ShellWord& word);
  char read_ansi_escape();
  void read_double_quoted(ShellWord& word);
  void read_backtick(ShellWord& word, bool quoted);
  std::uint32_t placeholder_end() const;  // past "<path to file>" ahead, or 0
  ShellWord read_until_brace(bool quoted);
  ShellWord read_arith_until(std::string_view close);
  std::uint32_t skip_balanced(std::uint32_t from) const;  // from after "(", to its ")"
  void add_byte(ShellWord& word, bool quoted, std::uint32_t offset, char byte) const;
  void read_here_docs();
  ShellWord here_body(std::uint32_t begin, std::uint32_t end, const PendingHereDoc& pending);

  // commands (shell_parser.cpp)
  std::string reserved_ahead();  // the bare word ahead, not consumed
  bool take_reserved(std::string_view word);
  void expect_reserved(std::string_view word, std::uint32_t opened_at);
  std::shared_ptr<Command> make(Command::Kind kind) const;
  std::shared_ptr<Command> parse_list(std::initializer_list<std::string_view> terminators);
  std::shared_ptr<Command> parse_and_or();
  std::shared_ptr<Command> parse_pipeline();
  std::shared_ptr<Command> parse_command();
  std::shared_ptr<Command> parse_if();
  std::shared_ptr<Command> parse_for(std::string_view keyword);
  std::shared_ptr<Command> parse_while(bool until);
  std::shared_ptr<Command> parse_case();
  std::shared_ptr<Command> parse_function(std::string name);
  std::shared_ptr<Command> parse_brace_or_paren();
  std::shared_ptr<Command> parse_double_paren();
  std::shared_ptr<Command> parse_test();
  std::shared_ptr<Command> parse_simple();
  bool parse_assignment(Command& command);
  bool parse_redirect(Command& command);
  bool function_head_ahead(std::string& name);

  std::string_view text_;
  std::function<int(std::uint32_t)> line_of_;
  std::uint32_t pos_ = 0;
  int depth_ = 0;
  std::vector<PendingHereDoc> pending_;
};

inline bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool is_name_char(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

}  // namespace culprit::launch::shell
