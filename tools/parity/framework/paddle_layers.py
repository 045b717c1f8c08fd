"""The tensor-parallel pieces of a block on PaddlePaddle: its own classes wherever they run on a CPU."""
import ctypes

import numpy as np
import paddle
from paddle.autograd import PyLayer
from paddle.distributed import ReduceOp
from paddle.distributed.fleet.layers.mpu import mp_layers, mp_ops


class _Done:
    """The handle of a collective that has ended."""

    def wait(self):
        pass


class _ProcessGroup:
    """What the layers use of a communication group. Like NCCL an all-reduce writes the tensor's memory: autograd
    records nothing and the in-place version stays."""

    def __init__(self, channel):
        self._channel = channel

    def all_reduce(self, tensor, op, sync_op=True):
        total = np.ascontiguousarray(self._channel.all_reduce(tensor.numpy()), dtype=np.float32)
        ctypes.memmove(tensor.data_ptr(), total.ctypes.data, total.nbytes)
        return _Done()

    def all_reduce_on_calc_stream(self, tensor, op):
        return self.all_reduce(tensor, op)

    def all_gather(self, tensor):
        return paddle.to_tensor(self._channel.all_gather(tensor.numpy()))


class Group:
    """A tensor group as the layers see it."""

    id = 0

    def __init__(self, rank, size, channel):
        self.rank, self.nranks, self.process_group = rank, size, _ProcessGroup(channel)

    def is_member(self):
        return True


class Gather(PyLayer):
    """All-gather of the feature shards; backward takes this rank's slice."""

    @staticmethod
    def forward(ctx, tensor, group):
        ctx.rank, ctx.width = group.rank, tensor.shape[-1]
        return group.process_group.all_gather(tensor)

    @staticmethod
    def backward(ctx, dy):
        return paddle.assign(dy[:, ctx.rank * ctx.width : (ctx.rank + 1) * ctx.width])


def use_cpu():
    """Before anything else, once a process: c_identity has no CPU kernel, a copy takes its place."""
    paddle.set_device("cpu")

    def copy(tensor, *args, **kwargs):
        return paddle.assign(tensor)

    paddle._C_ops.c_identity = copy
    paddle._legacy_C_ops.c_identity = copy


def parameter(values):
    """A trainable parameter with these values."""
    created = paddle.create_parameter(list(values.shape), "float32")
    created.set_value(values.copy())
    return created


def column_linear(x, weight, group, identity, path):
    """Column-parallel linear of x [T, D] with this rank's weight [D, D/tp]. What a skipped identity returns instead of its
    input is the business of paddle_patches.py."""
    if group.nranks == 1:
        return paddle.matmul(x, weight)
    skip = identity != "copy"
    if path == "overlap":
        return mp_layers.InnerOverlapLinear.apply(x, weight, None, False, True, skip, False, group)
    return paddle.matmul(mp_ops.c_identity_eager.apply(x, group, skip), weight)


def row_linear(y, weight, group, identity):
    """Row-parallel linear of y [T, D/tp] with this rank's weight [D/tp, D], all-reduced."""
    out = paddle.matmul(y, weight)
    if group.nranks == 1:
        return out
    return mp_ops.mp_allreduce_eager.apply(out, group, True, True, ReduceOp.SUM, identity == "skip")


def gather(y, group):
    return y if group.nranks == 1 else Gather.apply(y, group)
