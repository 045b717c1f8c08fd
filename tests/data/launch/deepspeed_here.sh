#!/bin/bash
set -ex
BASE=./tmp
DS_CONFIG=${BASE}/deepspeed.json
TP=2; PP=2
MICRO=4
GLOBAL=32
checkpointing="true"

EXTRA=
if [ $MICRO -eq 8 ]
then
EXTRA="\
    --tensor-model-parallel-size 8 \
    "
fi

cat <<EOT > $DS_CONFIG
{
  "train_batch_size" : $GLOBAL,
  "train_micro_batch_size_per_gpu": $MICRO,
  "fp16": {
    "enabled": true,
    "loss_scale": 512
  },
  "zero_optimization": { "stage": 0 },
  "tag": "$(hostname)"
}
EOT

ds_args=""
ds_args=" --deepspeed ${ds_args}"
ds_args=" --deepspeed_config=$DS_CONFIG ${ds_args}"
if [ "${checkpointing}" = "true" ]; then
  ds_args="--deepspeed-activation-checkpointing ${ds_args}"
  # ds_args="--checkpoint-activations ${ds_args}"
  ds_args="--recompute-granularity full --recompute-method uniform ${ds_args}"
fi

run_cmd="deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py \
    --tensor-model-parallel-size $TP \
    --pipeline-model-parallel-size $PP \
    --micro-batch-size $MICRO \
    --global-batch-size $GLOBAL \
    --fp16 \
    $EXTRA $ds_args"
echo ${run_cmd}
eval ${run_cmd} | tee run.log
