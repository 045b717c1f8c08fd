#!/bin/bash
#SBATCH --nodes=4
TENSOR=$NUM_TENSOR_RANKS
STEPS=$(wc -l < data.txt)
if grep -q fast setup.cfg; then
    RECOMPUTE=0
else
    RECOMPUTE=1
fi
OPTS="--pipeline-model-parallel-size 2"
if [ -f extra.txt ]; then
    OPTS="$OPTS --loss-scale 64"
fi
srun -l -N 4 --ntasks-per-node=8 bash -c "python -u pretrain_gpt.py --tensor-model-parallel-size $TENSOR $OPTS \
    --train-iters $STEPS --micro-batch-size 2"
