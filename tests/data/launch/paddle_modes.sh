#!/bin/bash
# One job out of several, by an argument that has a default.
mode="tensor"
mode="separate"
if [[ $# > 0 ]]; then
  mode=$1
fi
ranks=8
nodes=1
if [[ $nodes -gt 1 ]]; then
  master=`head -n 1 hosts.txt | awk '{print $1}'`
else
  master=127.0.0.1
fi

if [[ $mode == "tensor" ]]; then
# profile run -o trace \
python -u -m paddle.distributed.launch \
    --master $master:3600 --nnodes $nodes --gpus "0,1,2,3,4,5,6,7" \
    run_pretrain.py \
    --tensor_parallel_degree $ranks \
    --tensor_parallel_config "enable_mp_async_allreduce enable_mp_skip_c_identity" \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 4 \

elif [[ $mode == "separate" ]]; then
python -u -m paddle.distributed.launch \
    --master $master:3600 --nnodes $nodes --gpus "0,1,2,3,4,5,6,7" \
    run_pretrain.py \
    --tensor_parallel_degree 2 \
    --sep_parallel_degree 2 \
    --sequence_parallel false \
    --tensor_parallel_config "enable_mp_async_allreduce enable_mp_fused_linear_param_grad_add" \
    --recompute_use_reentrant true \
    --max_seq_length 65536 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8 \
    # --recompute 1 \
    # --sharding "stage1" \

fi
