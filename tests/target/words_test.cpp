#include "target/words.hpp"

#include "process/process_runner.hpp"
#include "target_test_support.hpp"

namespace culprit {
namespace {

std::vector<std::string> texts(std::string_view text) {
  std::vector<std::string> result;
  for (const Word& word : split_words(text)) result.push_back(word.text);
  return result;
}

using Texts = std::vector<std::string>;

TEST(WordsTest, SplitsAsAShellDoes) {
  EXPECT_EQ(texts(""), Texts{});
  EXPECT_EQ(texts("  \t\n "), Texts{});
  EXPECT_EQ(texts(" a  b\tc\n"), (Texts{"a", "b", "c"}));
  EXPECT_EQ(texts("'a b' \"c d\" e\\ f"), (Texts{"a b", "c d", "e f"}));
  EXPECT_EQ(texts("'' \"\" x''"), (Texts{"", "", "x"}));
  EXPECT_EQ(texts("a'b'\"c\"d"), Texts{"abcd"});
  EXPECT_EQ(texts("'a\\b$`' \"\\\"\\\\\\$\\n\""), (Texts{"a\\b$`", "\"\\$\\n"}));
  EXPECT_EQ(texts("a \\\n b"), (Texts{"a", "b"}));
  EXPECT_EQ(texts("\"a\\\nb\""), Texts{"ab"});
  EXPECT_EQ(texts("~ * ? # a#b"), (Texts{"~", "*", "?", "#", "a#b"}));
}

TEST(WordsTest, TellsWhatWasQuoted) {
  const std::vector<Word> words = split_words("{a} '{a}' \"x\"y \\z");
  EXPECT_EQ(words, (std::vector<Word>{{"{a}", false}, {"{a}", true}, {"xy", true}, {"z", true}}));
}

TEST(WordsTest, RefusesWhatOnlyAShellUnderstands) {
  for (const char* text : {"a | b", "a && b", "a; b", "a > b", "a < b", "(a)", "a `b`", "$HOME",
                           "\"$HOME\"", "\"`a`\""})
    EXPECT_USAGE_ERROR(split_words(text), "to a shell only");
  EXPECT_USAGE_ERROR(split_words("python x > log"), "at character 10");
  EXPECT_USAGE_ERROR(split_words("a 'b"), "a ' without its end at character 3");
  EXPECT_USAGE_ERROR(split_words("\"b"), "a \" without its end at character 1");
  EXPECT_USAGE_ERROR(split_words("a\\"), "a backslash");
}

TEST(WordsTest, QuotedWordsComeBackUnchangedThroughAShell) {
  const Texts nasty{"",     "a b",       "it's",       "$HOME `x` \"q\" \\",
                    "*?~#", "new\nline", "--flag=1,2", "\xc3\xa4"};
  EXPECT_EQ(texts(quote_words(nasty)), nasty);
  const ProcessResult result = run_process(shell("printf '%s|' " + quote_words(nasty)));
  std::string expected;
  for (const std::string& word : nasty) expected += word + "|";
  EXPECT_EQ(result.out.text(), expected);
  EXPECT_EQ(quote_word("--lr=1e-3"), "--lr=1e-3");
}

}  // namespace
}  // namespace culprit
