// Mutations of the sample scripts with a fixed seed: read, mapped and edited, or refused with a
// UsageError; never anything else.
#include <random>

#include "launch/launch_emit.hpp"
#include "launch_test_util.hpp"

namespace culprit::launch {
namespace {

constexpr int kRounds = 1500;

std::string mutate(std::string text, std::mt19937& random) {
  static constexpr std::string_view kPieces[] = {
      "$(", "${",  "\"", "'",  "`",     "((",      "[[ ", "if ",      "fi\n",
      "(",  ")",   "{",  "}",  "<<E\n", "\\\n",    "#",   "done",     "for x in ",
      "$A", "A+=", ";;", "&&", "\n",    "--fp16 ", "=",   "\xC3\xA9", "$((1/0))"};
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t k = 1 + below(4); k > 0; --k) {
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text.erase(at, 1 + below(12));
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(80)));
        break;
      case 3:
        text.resize(at);
        break;
      default:
        if (!text.empty()) text[at] = static_cast<char>(1 + below(126));
    }
  }
  return text;
}

TEST(LaunchFuzz, MutatedScriptsAreReadOrRefused) {
  std::mt19937 random(59290);
  std::vector<std::string> seeds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(launch_data(""))) {
    if (entry.path().extension() == ".sh") seeds.push_back(entry.path().string());
  }
  std::sort(seeds.begin(), seeds.end());
  for (std::string& seed : seeds) seed = file_text(seed);
  int num_read = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string text = mutate(seeds[static_cast<std::size_t>(round) % seeds.size()], random);
    try {
      const LaunchScript script = script_of(text);
      ++num_read;
      const LaunchMapping map = map_launch(script);
      for (const char* name : {"skip-c-identity", "recompute", "delay-scale-loss"}) {
        const std::vector<LaunchEdit> edits = {{name, "off"}};
        try {
          const std::string reduced = emit_reduced_script(script, edits);
          EXPECT_EQ(script_of(reduced).launches.size(), script.launches.size());
        } catch (const UsageError&) {
        }
      }
      for (const Launch& launch : script.launches) {
        for (const LaunchWord& word : launch.args) {
          ASSERT_EQ(word.origin.size(), word.text.size());
          ASSERT_EQ(word.through.size(), word.text.size());
          for (std::size_t i = 0; i < word.text.size(); ++i) {
            if (word.origin[i] == kNoOrigin) continue;
            ASSERT_LT(word.origin[i], text.size());
          }
        }
      }
    } catch (const UsageError&) {
    }
  }
  EXPECT_GT(num_read, kRounds / 10);
}

}  // namespace
}  // namespace culprit::launch
