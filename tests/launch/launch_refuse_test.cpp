// Input that is refused, with line and reason.

#include "launch_test_util.hpp"

namespace culprit::launch {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(LaunchRefuse, FilesThatAreNoScripts) {
  const auto folder = std::filesystem::temp_directory_path() / "culprit_launch_refuse";
  std::filesystem::create_directories(folder);
  const auto refused = [&](const std::string& name, const std::string& content) {
    std::ofstream(folder / name, std::ios::binary) << content;
    return usage_error([&] { read_launch_script(folder / name); });
  };
  EXPECT_TRUE(has(refused("empty.sh", ""), "empty"));
  EXPECT_TRUE(has(refused("blank.sh", " \n\t\n"), "empty"));
  EXPECT_TRUE(has(refused("zero.sh", std::string("a\nb\0c", 5)), "line 2: a NUL byte"));
  EXPECT_TRUE(has(refused("latin.sh", "a\n\n# \xE9t\xE9\n"), "line 3: byte 0xe9 is not UTF-8"));
  EXPECT_TRUE(has(refused("large.sh", std::string(kMaxScriptBytes + 1, '#')), "larger than"));
  EXPECT_TRUE(has(usage_error([&] { read_launch_script(folder); }), "is a folder"));
  EXPECT_TRUE(has(usage_error([&] { read_launch_script(folder / "none.sh"); }), "no such file"));
  EXPECT_TRUE(has(usage_error([&] { read_launch_script("/dev/null"); }), "not a regular file"));
  std::filesystem::remove_all(folder);
}

TEST(LaunchRefuse, NothingLaunched) {
  for (const char* text : {"echo torchrun a.py\n", "pip install deepspeed\n", "# torchrun a.py\n",
                           "never() { torchrun a.py; }\n", "python prepare.py --out x\n",
                           "if [ 1 -eq 2 ]; then torchrun a.py; fi\n"}) {
    EXPECT_TRUE(has(usage_error([&] { script_of(text); }), "starts no training program")) << text;
  }
}

TEST(LaunchRefuse, SyntaxWithItsLine) {
  EXPECT_TRUE(has(usage_error([] { script_of("\n\ntorchrun a.py \"x\n"); }),
                  "line 3: unterminated double quote"));
  EXPECT_TRUE(has(usage_error([] { script_of("A=(\n x\n"); }), "line 1: array is not closed"));
  EXPECT_TRUE(
      has(usage_error([] { script_of("x\nif true; then\n y\n"); }), "line 2: no matching 'fi'"));
  EXPECT_TRUE(
      has(usage_error([] { script_of("cat <<E\nx\n"); }), "line 1: here-document is not closed"));
}

TEST(LaunchRefuse, Contradictions) {
  const auto why = [](const std::string& text) { return usage_error([&] { map_of(text); }); };
  EXPECT_TRUE(has(why("torchrun a.py \\\n --recompute 1 \\\n --recompute 0\n"),
                  "line 3: --recompute 0 contradicts"));
  EXPECT_TRUE(has(why("torchrun a.py --fp16 \\\n --bf16\n"),
                  "fp16 (line 1) and bf16 (line 2) are both on"));
  EXPECT_NO_THROW(
      map_of("torchrun a.py --fp16 false --bf16 true --recompute 1 --recompute true\n"));
  EXPECT_TRUE(has(why("torchrun a.py --tensor_parallel_config a\\\n --tensor_parallel_config b\n"),
                  "contradicts"));
  EXPECT_TRUE(has(why("torchrun a.py --tensor-model-parallel-size 2\ntorchrun a.py "
                      "--tensor-model-parallel-size 4\n"),
                  "line 2: --tensor-model-parallel-size 4 contradicts --tensor-model-parallel-size "
                  "2 of line 1; the "
                  "script's launches disagree"));
  EXPECT_TRUE(has(why("torchrun a.py --tensor_parallel_degree two\n"), "expected a whole number"));
  EXPECT_TRUE(has(why("torchrun a.py --gradient_accumulation_steps 0\n"), "expected at least 1"));
  EXPECT_TRUE(
      has(why("torchrun --nproc_per_node 2 a.py --micro-batch-size 2 --global-batch-size 16 "
              "--gradient_accumulation_steps 2\n"),
          "contradicts"));
}

TEST(LaunchRefuse, UnboundedExpansionEndsSoon) {
  std::string laughs = "A0=0123456789\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = std::to_string(i - 1);
    laughs += "A" + std::to_string(i) + "=$A" + before + "$A" + before + "$A" + before + "\n";
  }
  std::string deep = "torchrun a.py " + std::string(5000, '(') + "\n";
  std::string braces = "X=";
  for (int i = 0; i < 5000; ++i) braces += "${A:-";
  std::string chain = "true";
  for (int i = 0; i < 50000; ++i) chain += " && true";
  std::string nested_loops;
  for (int i = 0; i < 12; ++i) nested_loops += "for x in $(a) $(b); do ";
  nested_loops += "A=$A$x; ";
  for (int i = 0; i < 12; ++i) nested_loops += "done; ";
  std::string conditions;
  for (int i = 0; i < 20; ++i) conditions += "if [ -f a ]; then ";
  conditions += "A=1; ";
  for (int i = 0; i < 20; ++i) conditions += "else B=1; fi; ";
  std::string copies = "B=" + std::string(200000, 'x') + "\n";
  for (int i = 0; i < 20000; ++i) copies += "[ -z $U ] && ( : )\n";
  for (const std::string& text :
       {copies, laughs, deep, braces, chain, nested_loops, conditions,
        std::string("f() { f; }\nf\n"), std::string("f() { eval f; }\nf\n"),
        std::string("A='eval $A'\neval $A\n"), std::string("bash -c \"bash -c 'bash -c x'\"\n"),
        std::string("x=$((" + std::string(3000, '-') + "1))\n"),
        std::string("[ " + std::string(4000, '!') + " ]\n")}) {
    usage_error([&] { script_of(text); });
  }
}

}  // namespace
}  // namespace culprit::launch
