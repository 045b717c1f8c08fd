set -x
unset CUDA_VISIBLE_DEVICES
mode=${1:-mp}
skip_words="enable_mp_async_allreduce enable_mp_skip_c_identity"

function run_mp() {
    local recompute=$1
    python -u -m paddle.distributed.launch --gpus "0,1,2,3,4,5,6,7" run_pretrain.py \
        --tensor_parallel_degree 4 \
        --pipeline_parallel_degree 2 \
        --gradient_accumulation_steps 8 \
        --tensor_parallel_config "$skip_words enable_mp_fused_linear_param_grad_add" \
        --recompute $recompute \
        --recompute_use_reentrant true \
        --bf16 true \
        --fp16_opt_level="O2" \
        --logging_steps 1\
        # --pipeline_parallel_config "enable_delay_scale_loss" \
        --fp16 true
}

run_never() {
    python -m paddle.distributed.launch run_pretrain.py --tensor_parallel_degree 2
}

case $mode in
    mp|hybrid) run_mp true ;;
    *) run_never ;;
esac
