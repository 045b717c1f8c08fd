#!/bin/bash
# A Megatron-LM job: arrays with comments inside, a nested array, torchrun.
export CUDA_DEVICE_MAX_CONNECTIONS=1

GPUS_PER_NODE=8
NUM_NODES=2
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
TP=${TP:-2}
PP=${2:-4}
DATA_PATH=<path and prefix>_text_document

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
    --master_addr localhost   # --node_rank 0
)

MODEL_ARGS=(
    --num-layers 24
    # --recompute-granularity selective
    --hidden-size 2048
    --micro-batch-size 1
    --global-batch-size $((WORLD_SIZE * 8))
)
MODEL_ARGS+=(
    --recompute-granularity full
    --recompute-method uniform
    --recompute-num-layers 1
)
PARALLEL_ARGS=(
    --tensor-model-parallel-size $TP
    --pipeline-model-parallel-size $PP
    --sequence-parallel
)

torchrun "${DISTRIBUTED_ARGS[@]}" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" \
    ${PARALLEL_ARGS[@]} \
    --bf16 \
    --no-async-tensor-model-parallel-allreduce \
    --data-path $DATA_PATH
