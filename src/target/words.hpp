// Splits a command template into words as a POSIX shell does with quotes, without running a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culprit {

struct Word {
  std::string text;        // quotes removed
  bool is_quoted = false;  // any part of it stood in quotes or behind a backslash
  bool operator==(const Word&) const = default;
};

// 'single' keeps everything, "double" keeps everything but \" \\ \$ \` and line continuations, a
// backslash outside keeps the next character. Nothing is expanded: * ? ~ # stand for themselves.
// What would mean something else in a shell is refused (UsageError with the position): unquoted | &
// ; < > ( ) ` and a $ outside single quotes, and quotes without their end.
std::vector<Word> split_words(std::string_view text);

// The word quoted for a POSIX shell; unchanged where it needs no quotes.
std::string quote_word(std::string_view text);
// All words, quoted, with spaces between: a line to paste into a shell.
std::string quote_words(const std::vector<std::string>& words);

}  // namespace culprit
