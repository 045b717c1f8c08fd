#!/usr/bin/env bash
# The common part of a benchmark: a script that is not here calls train().
function set_params(){
    run_mode=${1:-"DP"}
    recompute=${recompute:-1}
    micro=${2:-"1"}
}
function unused(){
    echo nothing
}
function train(){
    train_cmd="--tensor_parallel_degree 2 \
        --per_device_train_batch_size ${micro} \
        --recompute ${recompute} \
        --device gpu"
    case ${run_mode} in
    TP2) train_cmd="python -u -m paddle.distributed.launch --gpus=0,1 run_pretrain.py ${train_cmd}" ;;
    TP4|TP8) train_cmd="python -u -m paddle.distributed.launch --gpus=0,1,2,3 run_pretrain.py ${train_cmd}" ;;
    *) echo "choose a run_mode"; exit 1;
    esac
    python -c "import paddle"
    timeout 40m ${train_cmd} > train.log 2>&1
}
source ${BENCHMARKS}/run_model.sh
set_params $@
#train
run_all
