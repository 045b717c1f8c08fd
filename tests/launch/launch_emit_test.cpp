// The reduced script: only what was asked for differs.
#include "launch/launch_emit.hpp"

#include "launch_test_util.hpp"

namespace culprit::launch {
namespace {

std::string emit(const std::string& text, std::vector<LaunchEdit> edits) {
  return emit_reduced_script(script_of(text), edits);
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LaunchEmit, ReportersScript) {
  const LaunchScript script = read_launch_script(launch_data("issue_59290.sh"));
  const std::vector<LaunchEdit> edits = {{"async-all-reduce", "off"},
                                         {"recompute", "off"},
                                         {"delay-scale-loss", "off"},
                                         {"acc", "1"},
                                         {"pp", "1"}};
  std::string expected = script.text;
  expected = with(expected, "enable_mp_async_allreduce enable", "enable");
  expected = with(expected, "--recompute 1", "--recompute 0");
  expected = with(expected, "\"enable_delay_scale_loss\"", "\"\"");
  expected = with(expected, "accumulation_steps 4", "accumulation_steps 1");
  expected = with(expected, "PP=2", "PP=1");
  const std::string reduced = emit_reduced_script(script, edits);
  EXPECT_EQ(reduced, expected);
  const LaunchMapping map = map_launch(script_of(reduced));
  EXPECT_EQ(map.skip_c_identity, true);
  EXPECT_EQ(map.async_all_reduce, false);
  EXPECT_EQ(map.recompute, false);
}

TEST(LaunchEmit, NothingToDoChangesNothing) {
  const std::string text = "torchrun a.py --recompute 0   # keep\n";
  EXPECT_EQ(emit(text, {}), text);
  EXPECT_EQ(emit(text, {{"recompute", "off"}, {"skip-c-identity", "off"}}), text);
}

TEST(LaunchEmit, BareFlagsGoWithTheirLine) {
  EXPECT_EQ(emit("torchrun a.py \\\n  --recompute \\\n  --fp16  # c\n", {{"recompute", "off"}}),
            "torchrun a.py \\\n  --fp16  # c\n");
  EXPECT_EQ(emit("torchrun a.py --recompute --fp16\n", {{"recompute", "off"}}),
            "torchrun a.py --fp16\n");
  EXPECT_EQ(
      emit("A=(\n --x 1\n --recompute-granularity full # why\n --y\n)\ntorchrun a.py ${A[@]}\n",
           {{"recompute", "off"}}),
      "A=(\n --x 1\n # why\n --y\n)\ntorchrun a.py ${A[@]}\n");
}

TEST(LaunchEmit, ListWordsInVariables) {
  EXPECT_EQ(emit("W='enable_mp_async_allreduce enable_mp_skip_c_identity'\ntorchrun a.py "
                 "--tensor_parallel_config \"$W x\"\n",
                 {{"skip-c-identity", "off"}}),
            "W='enable_mp_async_allreduce'\ntorchrun a.py --tensor_parallel_config \"$W x\"\n");
  EXPECT_EQ(emit("torchrun a.py --tensor_parallel_config enable_mp_skip_c_identity --x\n",
                 {{"skip-c-identity", "off"}}),
            "torchrun a.py --tensor_parallel_config \"\" --x\n");
  EXPECT_EQ(emit("torchrun a.py --tensor_parallel_config=a,enable_mp_skip_c_identity\n",
                 {{"skip-c-identity", "off"}}),
            "torchrun a.py --tensor_parallel_config=a\n");
}

TEST(LaunchEmit, ValuesAreEditedWhereTheyAreWrittenUnlessShared) {
  EXPECT_EQ(emit("R=true # on\ntorchrun a.py --recompute $R\n", {{"recompute", "off"}}),
            "R=false # on\ntorchrun a.py --recompute $R\n");
  // R is used for something else too: only the use is edited.
  EXPECT_EQ(emit("R=1\ntorchrun a.py --do_train $R --recompute $R\n", {{"recompute", "off"}}),
            "R=1\ntorchrun a.py --do_train $R --recompute 0\n");
  EXPECT_EQ(emit("torchrun a.py --tensor-model-parallel-size ${TP:-4}\n", {{"tp", "2"}}),
            "torchrun a.py --tensor-model-parallel-size ${TP:-2}\n");
  // A computed value has no place of its own; its use has.
  EXPECT_EQ(
      emit("A=2\ntorchrun a.py --tensor-model-parallel-size $((A*2)) --x $A\n", {{"tp", "1"}}),
      "A=2\ntorchrun a.py --tensor-model-parallel-size 1 --x $A\n");
}

TEST(LaunchEmit, MultiLineStringsAndEval) {
  const LaunchScript script = read_launch_script(launch_data("deepspeed_here.sh"));
  const std::vector<LaunchEdit> edits = {{"recompute", "off"}};
  const std::string reduced = emit_reduced_script(script, edits);
  EXPECT_EQ(reduced, with(script.text, "--recompute-granularity full --recompute-method",
                          "--recompute-method"));
  EXPECT_EQ(map_launch(script_of(reduced)).recompute, std::nullopt);
}

TEST(LaunchEmit, EveryMentionIsEdited) {
  EXPECT_EQ(emit("torchrun a.py --recompute 1 --x --recompute 1\n", {{"recompute", "off"}}),
            "torchrun a.py --recompute 0 --x --recompute 0\n");
  EXPECT_EQ(emit("A=(--recompute)\ntorchrun a.py ${A[@]}\ntorchrun a.py ${A[@]} --x\n",
                 {{"recompute", "off"}}),
            "A=()\ntorchrun a.py ${A[@]}\ntorchrun a.py ${A[@]} --x\n");
  std::string words;
  for (int i = 0; i < 100; ++i) words += "enable_mp_skip_c_identity ";
  EXPECT_NE(usage_error([&] {
              emit("torchrun a.py --tensor_parallel_config '" + words + "'\n",
                   {{"skip-c-identity", "off"}});
            }).find("mentions"),
            std::string::npos);
}

TEST(LaunchEmit, RefusesWhatItCannotDoSafely) {
  const auto why = [](const std::string& text, LaunchEdit edit) {
    return usage_error([&] { emit(text, {edit}); });
  };
  EXPECT_NE(why("torchrun a.py --recompute $X\n", {"recompute", "off"}).find("line 1"),
            std::string::npos);
  EXPECT_NE(why("torchrun a.py --fp16\n", {"tp", "1"}).find("no flag of the script gives tp"),
            std::string::npos);
  EXPECT_NE(why("torchrun a.py --fp16\n", {"speed", "1"}).find("no setting"), std::string::npos);
  EXPECT_NE(why("torchrun a.py --fp16\n", {"recompute", "on"}).find("expected \"off\""),
            std::string::npos);
  const LaunchScript beside = read_launch_script(launch_data("beside/run.sh"));
  const std::vector<LaunchEdit> edits = {{"skip-c-identity", "off"}};
  EXPECT_NE(usage_error([&] { emit_reduced_script(beside, edits); }).find("args.json"),
            std::string::npos);
}

}  // namespace
}  // namespace culprit::launch
