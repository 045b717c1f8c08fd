// The reader: what bash would pass to the program, without running bash.
#include "launch_test_util.hpp"

namespace culprit::launch {
namespace {

TEST(LaunchRead, VariablesDefaultsAndArithmetic) {
  EXPECT_EQ(joined_args("TP=2\nexport PP=${PP:-4}\n: ${ACC:=3}\ntorchrun a.py --x $TP --y \"$PP\" "
                        "--z $((TP*PP+ACC))\n"),
            "--x|2|--y|4|--z|11");
  EXPECT_EQ(
      joined_args("A=x; A+=y\ntorchrun a.py ${A}z ${A%y} ${#A} ${A^^} '$A' \"\\$A\" $'a b'\n"),
      "xyz|x|2|XY|$A|$A|a b");
}

TEST(LaunchRead, AnsiQuotes) {
  EXPECT_EQ(joined_args("torchrun a.py $'a\\tb\\n' $'\\x41\\101\\'' $'\\e[1m\\x00z'\n"),
            "a\tb\n|AA'|\x1b[1mz");
}

TEST(LaunchRead, UnquotedStringsAreSplitQuotedOnesAreNot) {
  EXPECT_EQ(joined_args("O='--a 1 --b'\ntorchrun a.py $O \"$O\" pre$O\n"),
            "--a|1|--b|--a 1 --b|pre--a|1|--b");
  EXPECT_EQ(joined_args("E=\ntorchrun a.py $E --a \"$E\" ''\n"), "--a||");
}

TEST(LaunchRead, ArraysWithCommentsAndAppends) {
  EXPECT_EQ(joined_args("A=(\n  --a 1 # --no\n  # --never 2\n  '--b "
                        "c'\n)\nA+=(--d)\nA[9]=z\ntorchrun a.py \"${A[@]}\"\n")
                .substr(0, 20),
            "--a|1|--b c|--d|||||");
  EXPECT_EQ(joined_args("A=(x y)\nB=(${A[@]} z)\ntorchrun a.py ${B[@]} ${B[1]} $B\n"), "x|y|z|y|x");
}

TEST(LaunchRead, ContinuationsAndCommentsAfterThem) {
  const LaunchScript script = script_of("torchrun a.py \\\n  --a 1 \\\n  # --b 2 \\\n  --c 3\n");
  ASSERT_EQ(script.launches[0].args.size(), 2u);
  EXPECT_TRUE(has_note(script.unknowns, 4, "--c is not part of the launch"));
  EXPECT_EQ(joined_args("torchrun a.py --s 1\\\n    --t 2\n"), "--s|1|--t|2");
  EXPECT_EQ(joined_args("torchrun a.py \\\r\n  --a 1\r\n"), "--a|1");
}

TEST(LaunchRead, BranchesThatAreNotTakenAddNothing) {
  EXPECT_EQ(joined_args("X=1\nif [ $X -eq 1 ]; then O=a; elif [[ $X == 2 ]]; then O=b; else O=c; "
                        "fi\ntorchrun a.py $O\n"),
            "a");
  EXPECT_EQ(joined_args("X=ab\n[[ $X == a* && ! -z $X ]] && O=yes || O=no\ntorchrun a.py $O\n"),
            "yes");
  EXPECT_EQ(
      joined_args("O=n\nif [ $PERF ] && [ $PERF -eq \"1\" ]; then O=y; fi\ntorchrun a.py $O\n"),
      "n");
  EXPECT_EQ(joined_args("M=b\ncase $M in a) O=1;; b|c) O=2;; *) O=3;; esac\ntorchrun a.py $O\n"),
            "2");
  EXPECT_EQ(joined_args("Z=$1\nif [ \"$Z\" == \"\" ]; then Z=2; fi\ntorchrun a.py $Z\n"), "2");
  EXPECT_EQ(joined_args("if (( 3 > 2 )); then O=y; fi\ntorchrun a.py $O\n"), "y");
}

TEST(LaunchRead, UnknownConditionIsFollowedBothWays) {
  const LaunchScript script = script_of(
      "O='--a 1'\nif [ -f x ]; then\nO=\"$O --b 2\"\nR=1\nelse R=0; fi\ntorchrun a.py $O --r $R\n");
  const auto& args = script.launches[0].args;
  ASSERT_EQ(args.size(), 5u);
  EXPECT_EQ(args[1].text, "1");
  EXPECT_FALSE(args[2].known);
  EXPECT_EQ(args[2].line, 2);
  EXPECT_NE(args[2].why_unknown.find("[ -f x ]"), std::string::npos);
  EXPECT_FALSE(args[4].known);
}

TEST(LaunchRead, LaunchUnderAnUnknownConditionSaysSo) {
  const LaunchScript script = script_of("if [ -d out ]; then\n torchrun a.py --x 1\nfi\n");
  EXPECT_TRUE(script.launches[0].conditional);
  EXPECT_TRUE(has_note(script.unknowns, 1, "[ -d out ]"));
}

TEST(LaunchRead, CommandsAreNeverRunAndOnlyMatterWhereTheyReach) {
  const LaunchScript script =
      script_of("H=$(cd $(dirname $0); pwd)\nN=`nproc`\ntorchrun a.py --out $H --n $N --k 1\n");
  const auto& args = script.launches[0].args;
  EXPECT_FALSE(args[1].known);
  EXPECT_EQ(args[1].text, "$(cd $(dirname $0); pwd)");
  EXPECT_EQ(args[3].line, 2);
  EXPECT_TRUE(args[5].known);
}

TEST(LaunchRead, EnvironmentIsNotRead) {
  ::setenv("CULPRIT_LAUNCH_TEST", "7", 1);
  const LaunchScript script = script_of("torchrun a.py --x $CULPRIT_LAUNCH_TEST\n");
  EXPECT_FALSE(script.launches[0].args[1].known);
  EXPECT_EQ(script.launches[0].args[1].text, "$CULPRIT_LAUNCH_TEST");
}

TEST(LaunchRead, LoopsAreUnrolledOrReadOnce) {
  EXPECT_EQ(joined_args("for x in a b c; do O+=\" --$x\"; done\ntorchrun a.py $O\n"),
            "--a|--b|--c");
  const LaunchScript script = script_of("for n in 1 2 4; do\n torchrun a.py --n $n --k 1\ndone\n");
  ASSERT_EQ(script.launches.size(), 1u);
  EXPECT_TRUE(script.launches[0].looped);
  EXPECT_FALSE(script.launches[0].args[1].known);
  EXPECT_TRUE(has_note(script.unknowns, 1, "loop"));
  EXPECT_EQ(joined_args("i=0\nwhile true; do i=$((i+1)); done\ntorchrun a.py --k 1\n"), "--k|1");
}

TEST(LaunchRead, FunctionsRunWhereTheyAreCalled) {
  EXPECT_EQ(
      joined_args(
          "go() {\n torchrun a.py --x $1 --n $#\n}\nfunction never { torchrun b.py; }\ngo 3\n"),
      "--x|3|--n|1");
}

TEST(LaunchRead, LaunchersAndTheirPrograms) {
  const auto program = [](std::string_view text) { return script_of(text).launches.at(0).program; };
  EXPECT_EQ(program("python -u -m torch.distributed.launch --nproc_per_node 8 a.py --x\n"), "a.py");
  EXPECT_EQ(program("torchrun --nproc_per_node 8 -m pkg.train --x\n"), "pkg.train");
  EXPECT_EQ(program("nohup deepspeed --num_gpus=2 dir/a.py --x > log 2>&1 &\n"), "dir/a.py");
  EXPECT_EQ(program("OMP_NUM_THREADS=1 mpirun -np 4 --allow-run-as-root python3 a.py\n"), "a.py");
  EXPECT_EQ(program("python train.py --tensor_parallel_degree 2\n"), "train.py");
  const LaunchScript nested =
      script_of("srun -N 2 bash -c 'X=3; python -m torch.distributed.run a.py --x $X'\n");
  EXPECT_EQ(nested.launches[0].launcher, Launcher::kTorch);
  EXPECT_EQ(nested.launches[0].args[1].text, "3");
}

TEST(LaunchRead, EveryWordKnowsWhereItIsWritten) {
  const std::string text =
      "TP=2\n\nL=\"enable_a enable_b\"\ntorchrun a.py \\\n  --tp $TP --l \"$L\"\n";
  const LaunchScript script = script_of(text);
  const LaunchWord& tp = script.launches[0].args[1];
  EXPECT_EQ(tp.line, 1);
  EXPECT_EQ(tp.used_line, 5);
  EXPECT_EQ(text.substr(tp.origin[0], 1), "2");
  EXPECT_EQ(text.substr(tp.through[0].begin, tp.through[0].end - tp.through[0].begin), "$TP");
  const LaunchWord& list = script.launches[0].args[3];
  EXPECT_EQ(text.substr(list.origin[9], 8), "enable_b");
}

TEST(LaunchRead, HostileTextStaysData) {
  const LaunchScript script =
      script_of("torchrun a.py --'<img onerror=x>' $'\\x1b[31m' \"`rm -rf /`\"\n");
  EXPECT_EQ(script.launches[0].args[0].text, "--<img onerror=x>");
  EXPECT_EQ(script.launches[0].args[2].text, "`rm -rf /`");
  EXPECT_FALSE(script.launches[0].args[2].known);
}

TEST(LaunchRead, ConfigurationFilesOnlyFromTheScriptsFolder) {
  const LaunchScript here = read_launch_script(launch_data("beside/run.sh"));
  ASSERT_EQ(here.files.size(), 1u);
  EXPECT_TRUE(here.files[0].known);
  const auto why = [](const std::string& text) {
    const LaunchScript script = parse_launch_script(text, launch_data("beside/other.sh"));
    EXPECT_FALSE(script.files.at(0).known);
    EXPECT_TRUE(script.files.at(0).text.empty());
    return script.files.at(0).why_unknown;
  };
  EXPECT_NE(why("torchrun a.py --deepspeed_config ../README.md.json\n").find("outside"),
            std::string::npos);
  EXPECT_NE(why("torchrun a.py --deepspeed_config /etc/x.json\n").find("outside"),
            std::string::npos);
  EXPECT_NE(why("torchrun a.py --deepspeed_config missing.json\n").find("no such file"),
            std::string::npos);
  EXPECT_NE(why("cd /elsewhere\ntorchrun a.py --deepspeed args.json\n").find("leaves its folder"),
            std::string::npos);
  EXPECT_NE(why("sed s/a/b/ t > c.json\ntorchrun a.py --deepspeed c.json\n").find("line 1"),
            std::string::npos);
}

}  // namespace
}  // namespace culprit::launch
