#!/usr/bin/env python3
"""One training step of a small model on PaddlePaddle's CPU wheel, as a command that `culprit isolate` can search.

Every switch is handed to Paddle: which of its functions runs, or an argument of one. Nothing here raises, exits or
computes because of a switch; where a combination fails, Paddle's own autograd does.

  --recompute KIND  paddle.distributed.fleet.utils.recompute around each block: reentrant, nonreentrant; none: a plain call
  --inplace         the activation in front of each block's linear layer is Paddle's in-place one
  --clone           each block clones its input first
  --frozen          the embedding's weight is not trainable (as in fine-tuning)
  --split N         the batch is split into N micro-batches, their gradients add up
  --retain          backward keeps the graph
  --grads FILE      writes the gradients of the blocks and the head, as JSON
"""
import argparse
import functools
import json
import logging
import os

os.environ.setdefault("GLOG_minloglevel", "3")
logging.disable(logging.WARNING)  # Paddle warns of what is tried here

import paddle
from paddle.distributed.fleet.utils import recompute

FEATURES, WORDS, TOKENS = 4, 8, 4


def plain_call(block, x):
    return block(x)


CALL = {
    "none": plain_call,
    "reentrant": functools.partial(recompute, use_reentrant=True),
    "nonreentrant": functools.partial(recompute, use_reentrant=False),
}
ACTIVATION = {False: paddle.tanh, True: paddle.tanh_}
ENTRANCE = {False: paddle.nn.Identity(), True: paddle.clone}


class Block(paddle.nn.Layer):
    """linear(tanh(x))"""

    def __init__(self, switches):
        super().__init__()
        self.entrance = ENTRANCE[switches.clone]
        self.activation = ACTIVATION[switches.inplace]
        self.linear = paddle.nn.Linear(FEATURES, FEATURES)

    def forward(self, x):
        return self.linear(self.activation(self.entrance(x)))


class Model(paddle.nn.Layer):
    def __init__(self, switches):
        super().__init__()
        trainable = paddle.ParamAttr(trainable=not switches.frozen)
        self.embedding = paddle.nn.Embedding(WORDS, FEATURES, weight_attr=trainable)
        self.blocks = paddle.nn.LayerList([Block(switches) for _ in range(2)])
        self.head = paddle.nn.Linear(FEATURES, 1)
        self.call = CALL[switches.recompute]

    def forward(self, words):
        x = self.embedding(words)
        for block in self.blocks:
            x = self.call(block, x)
        return self.head(x)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recompute", choices=sorted(CALL), default="none")
    parser.add_argument("--inplace", action="store_true")
    parser.add_argument("--clone", action="store_true")
    parser.add_argument("--frozen", action="store_true")
    parser.add_argument("--split", type=int, default=1)
    parser.add_argument("--retain", action="store_true")
    parser.add_argument("--grads", required=True)
    switches = parser.parse_args(argv)

    paddle.set_device("cpu")
    paddle.seed(2024)
    model = Model(switches)
    words = paddle.arange(TOKENS * 2).reshape([TOKENS, 2])
    for part in paddle.split(words, switches.split):
        paddle.square(model(part)).sum().backward(retain_graph=switches.retain)

    parts = {"blocks": model.blocks, "head": model.head}
    gradients = {
        f"{part}.{name}": weight.grad.numpy().tolist()
        for part, layer in parts.items()
        for name, weight in layer.named_parameters()
        if weight.grad is not None
    }
    with open(switches.grads, "w") as file:
        json.dump(gradients, file)


if __name__ == "__main__":
    main()
