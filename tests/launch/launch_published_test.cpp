// Constructs that published launch scripts use, in scripts of our own.
#include "launch/launch_emit.hpp"
#include "launch_test_util.hpp"

namespace culprit::launch {
namespace {

LaunchMapping map_file(const std::string& name) {
  return map_launch(read_launch_script(launch_data(name)));
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string reduced(const std::string& name, std::vector<LaunchEdit> edits) {
  return emit_reduced_script(read_launch_script(launch_data(name)), edits);
}

TEST(LaunchPublished, OneOfTwoLaunchesByADefault) {
  const LaunchScript script = read_launch_script(launch_data("paddle_modes.sh"));
  ASSERT_EQ(script.launches.size(), 1u);
  EXPECT_EQ(script.launches[0].line, 27);
  const LaunchMapping map = map_launch(script);
  EXPECT_EQ(map.tp, 2);
  EXPECT_EQ(map.pp, 1);
  EXPECT_EQ(map.acc, 8);
  EXPECT_EQ(map.world_size, 8);
  EXPECT_EQ(map.data_parallel, 2);  // the separate parallel degree splits the sequence
  EXPECT_EQ(map.skip_c_identity, false);
  EXPECT_EQ(map.async_all_reduce, true);
  EXPECT_EQ(map.recompute, std::nullopt);  // --recompute is commented out
  EXPECT_EQ(map.recompute_kind, RecomputeKind::kReentrant);
  EXPECT_TRUE(map.unknowns.empty());
  for (const MappedFlag& flag : map.flags) EXPECT_NE(flag.cls, FlagClass::kUnknown) << flag.name;
}

TEST(LaunchPublished, SlurmJobWithTheLauncherInAString) {
  const LaunchMapping map = map_file("megatron_job.sh");
  EXPECT_EQ(map.dialect, "Megatron-LM with DeepSpeed");
  EXPECT_EQ(map.tp, 4);
  EXPECT_EQ(map.pp, 12);
  EXPECT_EQ(map.world_size, 192);  // 24 nodes of #SBATCH, not the 2 that are commented out
  EXPECT_EQ(map.acc, 256);
  EXPECT_EQ(map.recompute, true);
  EXPECT_EQ(map.dtype, "fp16");
  EXPECT_EQ(map.loss_scale, std::nullopt);
  EXPECT_TRUE(has_note(map.notes, 25, "--loss-scale 12 does not count"));
  EXPECT_TRUE(has_note(map.notes, 0, "nodes 24 (line 3), ntasks-per-node 1 (line 4)"));
  // The configuration's name has the job's number in it; what is in it is known all the same.
  EXPECT_TRUE(flag_named(map, "--deepspeed_config")->known);
  EXPECT_EQ(flag_named(map, "train_batch_size")->line, 35);
  EXPECT_EQ(flag_named(map, "--sequence-parallel"), nullptr);
}

TEST(LaunchPublished, ArrayItemsThatHoldSeveralWords) {
  EXPECT_EQ(joined_args("A=('--a 1' \"--b\" '' '--c  2')\ntorchrun a.py ${A[@]}\n"),
            "--a|1|--b|--c|2");
  EXPECT_EQ(joined_args("A=('--a 1' '' b)\ntorchrun a.py \"${A[@]}\"\n"), "--a 1||b");
  EXPECT_EQ(joined_args("go() {\n torchrun a.py $@ \"$@\"\n}\ngo 'x y'\n"), "x|y|x y");
  const LaunchMapping map = map_file("megatron_strings.sh");
  EXPECT_EQ(map.acc, 32);
  EXPECT_EQ(map.pp, 1);  // its flag is commented out
  EXPECT_EQ(map.recompute, true);
  EXPECT_EQ(flag_named(map, "--recompute-granularity")->line, 13);
  EXPECT_EQ(flag_named(map, "--fp8-format")->value, "hybrid");
  // The whole item goes with its switch; the remark after it stays.
  EXPECT_EQ(reduced("megatron_strings.sh", {{"recompute", "off"}}),
            with(file_text(launch_data("megatron_strings.sh")),
                 "        \"--recompute-granularity full\"   # what", "        # what"));
}

TEST(LaunchPublished, OverridesOfAYamlFile) {
  const LaunchMapping map = map_file("paddle_overrides.sh");
  EXPECT_EQ(map.tp, 2);
  EXPECT_EQ(map.pp, 2);
  EXPECT_EQ(map.acc, 8);
  EXPECT_EQ(map.recompute, true);
  EXPECT_EQ(flag_named(map, "-o Distributed.sharding.sharding_degree")->cls,
            FlagClass::kRecognised);
  EXPECT_EQ(flag_named(map, "-o Data.Train.dataset.path")->cls, FlagClass::kUnknown);
  EXPECT_TRUE(has_note(map.unknowns, 6, "a YAML file, which is not read"));
  const std::string text = file_text(launch_data("paddle_overrides.sh"));
  EXPECT_EQ(
      reduced("paddle_overrides.sh", {{"recompute", "off"}, {"pp", "1"}}),
      with(with(text, "use_recompute=True", "use_recompute=False"), "pp_degree=2", "pp_degree=1"));
  // What the file says of the rest is not known.
  EXPECT_FALSE(
      map_of("python -m paddle.distributed.launch a.py -c x.yaml --mp_degree 2\n").pp.has_value());
}

TEST(LaunchPublished, FunctionsThatAnotherScriptCalls) {
  const LaunchScript script = read_launch_script(launch_data("paddle_sourced.sh"));
  ASSERT_EQ(script.launches.size(), 1u);
  EXPECT_TRUE(script.launches[0].conditional);
  EXPECT_TRUE(has_note(script.unknowns, 11, "train() is called by nothing in this script"));
  const LaunchMapping map = map_launch(script);
  EXPECT_EQ(map.tp, 2);
  // Neither the value that may be set elsewhere nor its default is taken for the flag's.
  EXPECT_EQ(map.recompute, std::nullopt);
  EXPECT_EQ(flag_named(map, "--recompute")->cls, FlagClass::kUnknown);
  EXPECT_EQ(map.world_size, std::nullopt);  // --gpus depends on the mode
}

TEST(LaunchPublished, BatchScriptsInHereDocuments) {
  const LaunchMapping map = map_file("sbatch_here.sh");
  EXPECT_EQ(map.tp, 2);
  EXPECT_EQ(map.world_size, 16);
  EXPECT_EQ(map.acc, 2);
  EXPECT_EQ(map.recompute, true);
  EXPECT_EQ(flag_named(map, "--recompute-granularity")->line, 7);
  EXPECT_EQ(reduced("sbatch_here.sh", {{"recompute", "off"}}),
            with(file_text(launch_data("sbatch_here.sh")),
                 "    --recompute-granularity selective\n", ""));
  for (const char* text :
       {"bash <<E\ntorchrun a.py --x 1\nE\n", "sbatch --wrap 'torchrun a.py --x 1'\n",
        "sbatch --wrap='torchrun a.py --x 1'\n", "bash <<< 'torchrun a.py --x 1'\n",
        "ssh host 'cd d; torchrun a.py --x 1'\n", "ssh -q host torchrun a.py --x 1\n",
        "time (torchrun a.py --x 1)\n", "time -p torchrun a.py --x 1\n"}) {
    EXPECT_EQ(joined_args(text), "--x|1") << text;
  }
}

TEST(LaunchPublished, ArgumentsHandedOnAreNotKnown) {
  // $@ of the script: neither how many there are nor what $2 is.
  const LaunchScript script =
      script_of("go() {\n torchrun a.py --x $2 --n ${3:-7}\n}\ngo \"$@\"\n");
  EXPECT_FALSE(script.launches[0].args[1].known);
  EXPECT_EQ(script.launches[0].args[3].text, "7");
  EXPECT_EQ(joined_args("go() {\n torchrun a.py --x \"$2\" --n $#\n}\ngo 1\n"), "--x||--n|1");
  EXPECT_EQ(joined_args("set -- a b\ntorchrun a.py $2 $#\n"), "b|2");
}

TEST(LaunchPublished, LauncherSetElsewhere) {
  const LaunchScript script = script_of(
      "source env.sh\n${LAUNCH} train.py $MODEL --tensor-model-parallel-size ${TP} --bf16\n");
  EXPECT_EQ(script.launches.at(0).program, "train.py");
  EXPECT_EQ(map_launch(script).dialect, "Megatron-LM");
  EXPECT_FALSE(map_launch(script).tp.has_value());
}

TEST(LaunchPublished, WorldSizes) {
  const std::string program = " a.py --tensor_parallel_degree 2\n";
  const auto world = [&](const std::string& launcher) {
    return map_of(launcher + program).world_size;
  };
  const std::string paddle = "python -m paddle.distributed.launch ";
  EXPECT_EQ(world(paddle + "--gpus 0,1,2,3 --ips 10.0.0.1,10.0.0.2"), 8);
  EXPECT_EQ(world(paddle + "--gpus 0,1,2,3 --ips $IPS"), std::nullopt);
  EXPECT_EQ(world(paddle + "--nnodes=2:4 --devices 0,1"), std::nullopt);
  EXPECT_EQ(world("deepspeed --include host:0,1@other:0,1,2,3"), 6);
  EXPECT_EQ(world("deepspeed --hostfile hosts --num_gpus 8"), std::nullopt);
  EXPECT_EQ(world("deepspeed --hostfile hosts --num_nodes 2 --num_gpus 8"), 16);
  EXPECT_EQ(world("accelerate launch --num_processes 8 --num_machines 2"), 8);
  EXPECT_EQ(world("srun -N 2 --ntasks-per-node 1 torchrun --nnodes 2 --nproc_per_node 4"), 8);
  EXPECT_EQ(world("srun --ntasks-per-node 4 python"), std::nullopt);  // nodes are the job's
  EXPECT_EQ(world("#SBATCH -N 2 --ntasks-per-node=4\nsrun python"), 8);
  EXPECT_EQ(world("#SBATCH -N2\n#SBATCH -n 6\n\nsrun python"), 6);
  EXPECT_EQ(world("#SBATCH --nodes=2-4 --ntasks-per-node=4\nsrun python"), std::nullopt);
  EXPECT_EQ(world("set -e\n#SBATCH -n 6\nsrun python"), std::nullopt);  // after the first command
  EXPECT_EQ(world("#SBATCH --nodes=3\ntorchrun --nnodes $SLURM_NNODES --nproc_per_node 2"), 6);
}

TEST(LaunchPublished, OlderPaddleNames) {
  const LaunchMapping map = map_of(
      "python -m paddle.distributed.launch --gpus 0,1,2,3,4,5,6,7 run.py --mp_degree 2 --pp_degree "
      "2 "
      "--dp_degree 2 --global_batch_size 32 --micro_batch_size 4 --use_recompute True\n");
  EXPECT_EQ(map.dialect, "Paddle");
  EXPECT_EQ(map.tp, 2);
  EXPECT_EQ(map.pp, 2);
  EXPECT_EQ(map.acc, 4);
  EXPECT_EQ(map.recompute, true);
  const std::string launch =
      "python -m paddle.distributed.launch a.py --micro_batch_size 4 --local_batch_size ";
  EXPECT_EQ(map_of(launch + "8\n").acc, 2);
  EXPECT_EQ(map_of(launch + "6\n").acc, std::nullopt);
  EXPECT_EQ(map_of(launch + "$N\n").acc, std::nullopt);
  EXPECT_EQ(map_of("torchrun a.py --micro-batch-size 2\n").acc,
            1);  // no global batch: one micro-batch
}

TEST(LaunchPublished, NamesThatPaddleTookOver) {
  const std::string flags = " a.py --tensor_model_parallel_size 2 --micro_batch_size 1\n";
  EXPECT_EQ(map_of("python -m paddle.distributed.launch" + flags).dialect, "Paddle");
  EXPECT_EQ(map_of("torchrun" + flags).dialect, "Megatron-LM");
  EXPECT_EQ(map_of("python a.py --micro_batch_size 1 --pp_degree 2\n").dialect, "Paddle");
}

TEST(LaunchPublished, LongValuesAreRefusedWithTheirLine) {
  const std::string text = "A=1\ntorchrun a.py --x ${A}" + std::string(300000, 'y') + "\n";
  EXPECT_NE(usage_error([&] { script_of(text); }).find("line 2: a value of more than 262144 bytes"),
            std::string::npos);
}

TEST(LaunchPublished, RefusalNamesTheScriptThatIsNotFollowed) {
  const std::string why = usage_error([] { script_of("cd jobs\nbash ./common.sh 1 2\n"); });
  EXPECT_NE(why.find("line 2 runs another script, which is not followed: ./common.sh"),
            std::string::npos)
      << why;
  EXPECT_NE(usage_error([] { script_of("paddleformers-cli train run.yaml\n"); }).find("run.yaml"),
            std::string::npos);
}

}  // namespace
}  // namespace culprit::launch
