"""What a candidate fix costs where it runs: bytes that the skipped identity's forward allocates, and time of its forward
and backward, on one rank. Prints a JSON object: candidate -> {"bytes": N, "seconds": S}; None is the framework as
released. A candidate that raises is left out. Started by ../fixes.py."""
import json
import statistics
import sys
import time
import os

# The folder above this one, to import this folder as a package.
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import paddle  # noqa: E402
from paddle.base import core  # noqa: E402
from paddle.distributed.fleet.layers.mpu import mp_ops  # noqa: E402

from framework import paddle_layers  # noqa: E402
from framework.paddle_patches import PATCHES, patched  # noqa: E402

TOKENS, HIDDEN = 2 * 1024, 4096  # a micro-batch of the report's script
REPEATS, CALLS = 15, 5


class _NoCommunication:
    """A channel of a group whose sum is what came in."""

    def all_reduce(self, array):
        return array


class _Group(paddle_layers.Group):
    def __init__(self):
        super().__init__(0, 2, _NoCommunication())
        # The all-reduce itself is the same with every candidate and would hide what differs.
        self.process_group.all_reduce_on_calc_stream = lambda tensor, op: None


def allocated():
    return core.host_memory_stat_current_value("Allocated", 0)


def forward_bytes(x, group):
    before = allocated()
    out = mp_ops.c_identity_eager.apply(x, group, True)
    return allocated() - before, out


def seconds(x, dy, group):
    start = time.perf_counter()
    for _ in range(CALLS):
        h = paddle.scale(x, 1.0)  # no leaf, as after an embedding
        out = mp_ops.c_identity_eager.apply(h, group, True)
        paddle.autograd.backward([out], [dy])
        x.clear_grad()
    return (time.perf_counter() - start) / CALLS


def main():
    paddle_layers.use_cpu()
    x = paddle.ones([TOKENS, HIDDEN])
    x.stop_gradient = False
    dy = paddle.ones([TOKENS, HIDDEN])
    group = _Group()
    costs = {}
    for name in (None, *PATCHES):
        with patched(name):
            h = paddle.scale(x, 1.0)
            try:
                size, out = forward_bytes(h, group)
            except ValueError:  # this candidate is refused even here
                continue
            costs[name] = {"bytes": size, "times": []}
            del h, out
    for _ in range(REPEATS):
        for name, cost in costs.items():  # in turn, so that a busy moment of the machine meets all
            with patched(name):
                cost["times"].append(seconds(x, dy, group))
    print(json.dumps({str(name): {"bytes": cost["bytes"], "seconds": statistics.median(cost["times"])}
                      for name, cost in costs.items()}))


if __name__ == "__main__":
    main()
