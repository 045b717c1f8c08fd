#!/bin/bash
# A YAML file with the defaults, and what differs from it.
log_dir=log_hybrid
python -m paddle.distributed.launch --log_dir $log_dir --devices "0,1,2,3,4,5,6,7" \
    ./tools/train.py \
    -c ./configs/pretrain_1.3B.yaml \
    -o Engine.max_steps=500 \
    -o Global.local_batch_size=16 \
    -o Global.micro_batch_size=2 \
    -o Model.use_recompute=True \
    -o Distributed.mp_degree=2 \
    -o Distributed.pp_degree=2 \
    -o Distributed.sharding.sharding_degree=${SHARDS:-2} \
    -o Data.Train.dataset.path=./data
