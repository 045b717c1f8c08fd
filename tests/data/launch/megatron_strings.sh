#!/bin/bash
# Array items that hold several words, handed over without quotes; no final newline.
TP_SIZE=${TP_SIZE:-2}
DTYPE="fp8"
DISTRIBUTED_ARGS=(
    --nproc_per_node 8
    --nnodes ${NUM_NODES:-1}
)
DTYPE_ARGS=()
if [[ "$DTYPE" == "fp8" ]]; then
    DTYPE_ARGS+=(
        "--fp8-format hybrid"
        "--recompute-granularity full"   # what, not how
        "--fp8-param-gather"
    )
fi
PARALLEL_ARGS=(
    --tensor-model-parallel-size $TP_SIZE
    # --pipeline-model-parallel-size 2 # one stage is enough
    --sequence-parallel
)
TRAINING_ARGS=(
    "--micro-batch-size 1"
    "--global-batch-size 128"
    --bf16
)
DDP_ARGS=( --use-distributed-optimizer )
TRAINING_ARGS+=("${DDP_ARGS[@]}")
if [ ! -f pretrain_gpt.py ]; then
    echo "not found"
    exit 1
fi
torchrun ${DISTRIBUTED_ARGS[@]} \
    pretrain_gpt.py \
    ${TRAINING_ARGS[@]} \
    ${DTYPE_ARGS[@]} \
    ${PARALLEL_ARGS[@]}