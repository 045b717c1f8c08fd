// A command line with placeholders. {name} stands for what is inserted there, {{name}} for the text
// {name}; any other brace stands for itself, so that JSON and shell code pass unchanged.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "target/words.hpp"

namespace culprit {

class CommandTemplate {
 public:
  CommandTemplate() = default;
  // Splits as split_words does; UsageError as there, and for an empty command.
  explicit CommandTemplate(std::string_view text);

  const std::string& text() const { return text_; }
  const std::set<std::string>& placeholders() const { return placeholders_; }
  bool has(const std::string& placeholder) const { return placeholders_.contains(placeholder); }

  // The words, with each placeholder replaced by what `words_of` returns for it. An unquoted word
  // that is nothing but {name} becomes these words, however many; inside a longer or quoted word
  // they are joined by spaces, each quoted for a shell where there are several.
  std::vector<std::string> render(
      const std::function<std::vector<std::string>(const std::string&)>& words_of) const;

 private:
  struct Piece {
    bool is_placeholder;
    std::string text;
  };
  struct TemplateWord {
    std::vector<Piece> pieces;
    bool is_spliced;  // nothing but one placeholder, unquoted
  };
  static std::vector<Piece> parse_pieces(std::string_view text);

  std::string text_;
  std::vector<TemplateWord> words_;
  std::set<std::string> placeholders_;
};

}  // namespace culprit
