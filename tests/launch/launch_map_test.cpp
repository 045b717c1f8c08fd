// The mapping: dialects, classes, sizes, switches.
#include "launch_test_util.hpp"

namespace culprit::launch {
namespace {

TEST(LaunchMap, ReportersScript) {
  const LaunchMapping map = map_launch(read_launch_script(launch_data("issue_59290.sh")));
  EXPECT_EQ(map.dialect, "Paddle");
  EXPECT_EQ(map.tp, 2);
  EXPECT_EQ(map.pp, 2);
  EXPECT_EQ(map.acc, 4);
  EXPECT_EQ(map.loss_scale, 1024.0);
  EXPECT_EQ(map.world_size, 4);
  EXPECT_EQ(map.delay_scale_loss, true);
  EXPECT_EQ(map.skip_c_identity, true);
  EXPECT_EQ(map.async_all_reduce, true);
  EXPECT_EQ(map.recompute, true);
  EXPECT_FALSE(map.recompute_kind.has_value());
  EXPECT_EQ(map.dtype, "fp16");
  EXPECT_EQ(map.opt_level, "O2");
  EXPECT_TRUE(map.unknowns.empty());
  const MappedFlag* fp16 = flag_named(map, "--fp16");
  ASSERT_NE(fp16, nullptr);
  EXPECT_EQ(fp16->cls, FlagClass::kRecognised);
  EXPECT_EQ(fp16->line, 41);
  EXPECT_EQ(flag_named(map, "--recompute")->cls, FlagClass::kSwitch);
  EXPECT_EQ(flag_named(map, "--tensor_parallel_degree")->cls, FlagClass::kSize);
  EXPECT_TRUE(has_note(map.notes, 16, "PERF"));
}

TEST(LaunchMap, MegatronArrays) {
  const LaunchMapping map = map_launch(read_launch_script(launch_data("megatron_arrays.sh")));
  EXPECT_EQ(map.dialect, "Megatron-LM");
  EXPECT_EQ(map.tp, 2);
  EXPECT_EQ(map.pp, 4);
  EXPECT_EQ(map.world_size, 16);
  EXPECT_EQ(map.data_parallel, 2);
  EXPECT_EQ(map.acc, 64);
  EXPECT_EQ(map.recompute, true);
  EXPECT_EQ(map.async_all_reduce, false);
  EXPECT_FALSE(map.skip_c_identity.has_value());
  EXPECT_EQ(map.dtype, "bf16");
  EXPECT_EQ(flag_named(map, "--data-path")->known, false);
  EXPECT_EQ(flag_named(map, "--sequence-parallel")->cls, FlagClass::kRecognised);
}

TEST(LaunchMap, DeepSpeedConfigurationInAHereDocument) {
  const LaunchMapping map = map_launch(read_launch_script(launch_data("deepspeed_here.sh")));
  EXPECT_EQ(map.dialect, "Megatron-LM with DeepSpeed");
  EXPECT_EQ(map.tp, 2);
  EXPECT_EQ(map.acc, 4);
  EXPECT_EQ(map.loss_scale, 512.0);
  EXPECT_EQ(map.recompute, true);
  EXPECT_EQ(map.dtype, "fp16");
  const MappedFlag* key = flag_named(map, "fp16.loss_scale");
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(key->file, "./tmp/deepspeed.json");
  EXPECT_EQ(key->line, 24);
}

TEST(LaunchMap, PaddleFunctionsCaseAndReentrant) {
  const LaunchMapping map = map_launch(read_launch_script(launch_data("paddle_functions.sh")));
  EXPECT_EQ(map.tp, 4);
  EXPECT_EQ(map.pp, 2);
  EXPECT_EQ(map.world_size, 8);
  EXPECT_EQ(map.skip_c_identity, true);
  EXPECT_EQ(map.recompute, true);
  EXPECT_EQ(map.recompute_kind, RecomputeKind::kReentrant);
  EXPECT_EQ(map.dtype, "bf16");
  EXPECT_FALSE(map.delay_scale_loss.has_value());
  EXPECT_TRUE(has_note(map.unknowns, 19, "not part of the launch"));
}

TEST(LaunchMap, WhatIsNotKnownIsSaidNotGuessed) {
  const LaunchMapping map = map_launch(read_launch_script(launch_data("srun_unknown.sh")));
  EXPECT_EQ(map.world_size, 32);
  EXPECT_FALSE(map.tp.has_value());
  EXPECT_EQ(map.pp, 2);
  EXPECT_FALSE(map.loss_scale.has_value());
  EXPECT_EQ(flag_named(map, "--tensor-model-parallel-size")->cls, FlagClass::kUnknown);
  EXPECT_TRUE(has_note(map.unknowns, 14, "NUM_TENSOR_RANKS is never assigned"));
}

TEST(LaunchMap, ArgumentsInAJsonFileBesideTheScript) {
  const LaunchMapping map = map_launch(read_launch_script(launch_data("beside/run.sh")));
  EXPECT_EQ(map.tp, 2);
  EXPECT_EQ(map.acc, 16);
  EXPECT_EQ(map.loss_scale, 256.0);
  EXPECT_EQ(map.skip_c_identity, true);
  EXPECT_EQ(map.async_all_reduce, false);
  EXPECT_EQ(map.recompute, true);
  EXPECT_EQ(flag_named(map, "scale_loss")->line, 7);
  const LaunchMapping lost =
      map_of("python -m paddle.distributed.launch a.py gone.json --recompute\n");
  EXPECT_FALSE(lost.tp.has_value());
  EXPECT_TRUE(has_note(lost.unknowns, 1, "gone.json"));
}

TEST(LaunchMap, FormsOfSwitches) {
  const auto recompute = [](const std::string& flag) {
    return map_of("python -m paddle.distributed.launch a.py " + flag +
                  " --tensor_parallel_degree 2\n")
        .recompute;
  };
  EXPECT_EQ(recompute("--recompute"), true);
  EXPECT_EQ(recompute("--recompute 1"), true);
  EXPECT_EQ(recompute("--recompute true"), true);
  EXPECT_EQ(recompute("--recompute=True"), true);
  EXPECT_EQ(recompute("--recompute 0"), false);
  EXPECT_EQ(recompute("--recompute false"), false);
  EXPECT_EQ(recompute("--recompute $NEVER_SET"), std::nullopt);
  EXPECT_EQ(recompute("--recompute maybe"), std::nullopt);
  EXPECT_EQ(recompute("--recompute_granularity full"),
            std::nullopt);  // in Paddle: of what, not whether
  const auto skip = [](const std::string& list) {
    return map_of("python -m paddle.distributed.launch a.py --tensor_parallel_config " + list +
                  "\n")
        .skip_c_identity;
  };
  EXPECT_EQ(skip("enable_mp_async_allreduce,enable_mp_skip_c_identity"), true);
  EXPECT_EQ(skip("enable_mp_async_allreduce enable_mp_skip_c_identity"), true);
  EXPECT_EQ(skip("\"\""), false);
  EXPECT_EQ(skip("'enable_mp_skip_c_identity enable_new_thing'"), true);
}

TEST(LaunchMap, UnknownFlagsAndListWords) {
  const LaunchMapping map = map_of(
      "torchrun a.py --brand-new 3 --tensor_parallel_config 'enable_new_thing' $EXTRA_ARGS\n");
  EXPECT_EQ(flag_named(map, "--brand-new")->cls, FlagClass::kUnknown);
  EXPECT_EQ(flag_named(map, "--brand-new")->value, "3");
  EXPECT_TRUE(std::any_of(map.flags.begin(), map.flags.end(), [](const MappedFlag& flag) {
    return flag.value == "enable_new_thing" && flag.cls == FlagClass::kUnknown;
  }));
  EXPECT_TRUE(has_note(map.unknowns, 1, "EXTRA_ARGS is never assigned"));
}

TEST(LaunchMap, ReleaseGradsIsNotReleaseOfOutputs) {
  const LaunchMapping map = map_of(
      "python -m paddle.distributed.launch a.py --pipeline_parallel_config enable_release_grads\n");
  EXPECT_FALSE(map.release_outputs.has_value());
  EXPECT_EQ(map_of("torchrun a.py --deallocate-pipeline-outputs true\n").release_outputs, true);
}

TEST(LaunchMap, AccumulationIsOnlyDerivedFromWholeFacts) {
  const std::string flags =
      " a.py --micro-batch-size 2 --global-batch-size 32 --tensor-model-parallel-size 2\n";
  EXPECT_EQ(map_of("torchrun --nproc_per_node 4" + flags).acc, 8);
  EXPECT_EQ(map_of("torchrun --nproc-per-node=4 --nnodes=2" + flags).acc, 4);
  EXPECT_EQ(map_of("srun -n 8 python" + flags).acc, 4);
  EXPECT_EQ(map_of("mpirun -np 4 python" + flags).acc, 8);
  EXPECT_EQ(map_of("torchrun --nproc_per_node $GPUS" + flags).acc, std::nullopt);
  EXPECT_EQ(map_of("torchrun --nproc_per_node 4 --nnodes $N" + flags).acc, std::nullopt);
  EXPECT_EQ(map_of("torchrun --nproc_per_node 6" + flags).acc, std::nullopt);  // 32 / (2 x 3)
  EXPECT_EQ(map_of("deepspeed --num_gpus 4 --num_nodes 1" + flags).acc, 8);
}

}  // namespace
}  // namespace culprit::launch
