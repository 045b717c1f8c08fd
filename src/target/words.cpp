#include "target/words.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace culprit {
namespace {

constexpr std::string_view kBlanks = " \t\n";
constexpr std::string_view kShellOnly = "|&;<>()`$";
constexpr std::string_view kEscapedInDouble = "\"\\$`";

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  std::vector<Word> run() {
    while (at_ < text_.size()) step();
    end_word();
    return std::move(words_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (kBlanks.find(c) != std::string_view::npos) {
      end_word();
      ++at_;
    } else if (c == '\'') {
      single_quoted();
    } else if (c == '"') {
      double_quoted();
    } else if (c == '\\') {
      if (at_ + 1 == text_.size()) refuse("a backslash without a character after it");
      if (text_[at_ + 1] != '\n') add(text_[at_ + 1], true);
      at_ += 2;
    } else if (kShellOnly.find(c) != std::string_view::npos) {
      refuse_shell(c);
    } else {
      add(c, false);
      ++at_;
    }
  }

  void single_quoted() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) refuse("a ' without its end");
    begin_quoted();
    word_.text += text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  }

  void double_quoted() {
    const std::size_t start = at_++;
    begin_quoted();
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_];
      if (c == '$' || c == '`') refuse_shell(c);
      if (c == '\\' && at_ + 1 < text_.size()) {
        const char next = text_[at_ + 1];
        if (next == '\n') {
          at_ += 2;
          continue;
        }
        if (kEscapedInDouble.find(next) != std::string_view::npos) {
          c = next;
          ++at_;
        }
      }
      word_.text += c;
      ++at_;
    }
    if (at_ >= text_.size()) {
      at_ = start;
      refuse("a \" without its end");
    }
    ++at_;
  }

  void begin_quoted() { is_in_word_ = word_.is_quoted = true; }
  void add(char c, bool is_quoted) {
    is_in_word_ = true;
    word_.is_quoted |= is_quoted;
    word_.text += c;
  }
  void end_word() {
    if (is_in_word_) words_.push_back(std::move(word_));
    word_ = {};
    is_in_word_ = false;
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw UsageError(fmt::format("[target.words] '{}': {} at character {}", text_, what, at_ + 1));
  }
  [[noreturn]] void refuse_shell(char c) const {
    refuse(
        fmt::format("'{}' means something to a shell only, and none is run: quote it, or write sh "
                    "-c '...', got it",
                    c));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Word> words_;
  Word word_;
  bool is_in_word_ = false;
};

}  // namespace

std::vector<Word> split_words(std::string_view text) { return Splitter(text).run(); }

std::string quote_word(std::string_view text) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  if (!text.empty() && text.find_first_not_of(kSafe) == std::string_view::npos)
    return std::string(text);
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result += '\'';
}

std::string quote_words(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) {
    if (!result.empty()) result += ' ';
    result += quote_word(word);
  }
  return result;
}

}  // namespace culprit
