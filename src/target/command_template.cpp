#include "target/command_template.hpp"

#include "base/ascii.hpp"
#include "base/error.hpp"

namespace culprit {
namespace {

// The length of NAME at the beginning of text, 0 when there is none.
std::size_t name_length(std::string_view text) {
  if (text.empty() || !(is_letter(text[0]) || text[0] == '_')) return 0;
  std::size_t length = 1;
  while (length < text.size() &&
         (is_alphanumeric(text[length]) || text[length] == '_' || text[length] == '.' ||
          text[length] == '-'))
    ++length;
  return length;
}

std::string joined(const std::vector<std::string>& words) {
  return words.empty() ? "" : words.size() == 1 ? words[0] : quote_words(words);
}

}  // namespace

CommandTemplate::CommandTemplate(std::string_view text) : text_(text) {
  for (const Word& word : split_words(text)) {
    TemplateWord parsed{parse_pieces(word.text), false};
    parsed.is_spliced =
        !word.is_quoted && parsed.pieces.size() == 1 && parsed.pieces[0].is_placeholder;
    for (const Piece& piece : parsed.pieces)
      if (piece.is_placeholder) placeholders_.insert(piece.text);
    words_.push_back(std::move(parsed));
  }
  if (words_.empty()) throw UsageError("[target.template] the command is empty");
}

std::vector<CommandTemplate::Piece> CommandTemplate::parse_pieces(std::string_view text) {
  std::vector<Piece> pieces;
  std::string literal;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_doubled = text.substr(at).starts_with("{{");
    const std::size_t braces = is_doubled ? 2 : 1;
    const std::size_t length = text[at] == '{' ? name_length(text.substr(at + braces)) : 0;
    const std::string_view end =
        text.substr(at).substr(std::min(text.size() - at, braces + length));
    if (length > 0 && end.starts_with(is_doubled ? "}}" : "}")) {
      const std::string name(text.substr(at + braces, length));
      if (is_doubled) {
        literal += '{' + name + '}';
      } else {
        if (!literal.empty()) pieces.push_back({false, std::move(literal)});
        literal.clear();
        pieces.push_back({true, name});
      }
      at += 2 * braces + length;
    } else {
      literal += text[at++];
    }
  }
  if (!literal.empty() || pieces.empty()) pieces.push_back({false, std::move(literal)});
  return pieces;
}

std::vector<std::string> CommandTemplate::render(
    const std::function<std::vector<std::string>(const std::string&)>& words_of) const {
  std::vector<std::string> result;
  for (const TemplateWord& word : words_) {
    if (word.is_spliced) {
      for (std::string& each : words_of(word.pieces[0].text)) result.push_back(std::move(each));
      continue;
    }
    std::string text;
    for (const Piece& piece : word.pieces)
      text += piece.is_placeholder ? joined(words_of(piece.text)) : piece.text;
    result.push_back(std::move(text));
  }
  return result;
}

}  // namespace culprit
