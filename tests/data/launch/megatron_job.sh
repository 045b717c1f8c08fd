#!/bin/bash
#SBATCH --job-name=pretrain
#SBATCH --nodes=24
#SBATCH --ntasks-per-node=1          # one task a node, which starts the others
#SBATCH --gres=gpu:8
##SBATCH --nodes=2

source $SCRATCH/start-training

GPUS_PER_NODE=8
NNODES=$SLURM_NNODES
MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)

TP_SIZE=4
PP_SIZE=12
MICRO_BATCH_SIZE=2
GLOBAL_BATCH_SIZE=2048
ZERO_STAGE=0

GPT_ARGS=" \
    --num-layers 70 --hidden-size 14336 --num-attention-heads 112 \
    --micro-batch-size $MICRO_BATCH_SIZE \
    --rampup-batch-size 192 16 9_765_625 \
    --global-batch-size $GLOBAL_BATCH_SIZE \
    --loss-scale 12 \
    --fp16 \
    --checkpoint-activations \
    "
#    --sequence-parallel \

config_json="./ds_config.$SLURM_JOB_ID.json"
cat <<EOT > $config_json
{
  "train_micro_batch_size_per_gpu": $MICRO_BATCH_SIZE,
  "train_batch_size": $GLOBAL_BATCH_SIZE,
  "zero_optimization": { "stage": $ZERO_STAGE },
  "fp16": {
    "enabled": true,
    "loss_scale": 0
  }
}
EOT

DEEPSPEED_ARGS=" \
    --deepspeed \
    --deepspeed_config ${config_json} \
    --zero-stage ${ZERO_STAGE} \
    "

export LAUNCHER="python -u -m torch.distributed.run \
    --nproc_per_node $GPUS_PER_NODE \
    --nnodes $NNODES \
    --rdzv_endpoint $MASTER_ADDR:6000 \
    "
export CMD=" \
    `pwd`/pretrain_gpt.py \
    --tensor-model-parallel-size $TP_SIZE \
    --pipeline-model-parallel-size $PP_SIZE \
    $GPT_ARGS \
    $DEEPSPEED_ARGS \
    "
# to see what would start: echo before bash
clear; srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee log.txt
