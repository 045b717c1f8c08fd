#!/bin/bash
# Submits a job whose script is written here.
TP=${TP:-2}
ARGS=(
    --tensor-model-parallel-size ${TP}
    --micro-batch-size 4 --global-batch-size 64
    --recompute-granularity selective
    --recompute-modules mlp moe
)
if [ "${WITH_FSDP:-1}" = 1 ]; then
    ARGS=( "${ARGS[@]}" --use-distributed-optimizer )
fi
TRAINING_CMD="
cd ${HOME}/train;
export PYTHONPATH=${HOME}/train;
python ./pretrain_gpt.py ${ARGS[@]}"
mkdir -p logs || {
    echo "no logs"
    exit 1
}
sbatch <<EOF
#!/bin/bash
#SBATCH --nodes=2
srun -l -n 16 --container-image=image \
    bash -x -c "${TRAINING_CMD}" 2>&1 | tee logs/\${SLURM_JOB_ID}.log
EOF
