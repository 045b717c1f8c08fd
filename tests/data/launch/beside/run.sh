#!/bin/bash
cd "$(dirname "$0")"
python -m paddle.distributed.launch --devices=0,1,2,3 run_pretrain.py args.json --recompute
