"""The tensor-parallel pieces of a block on PyTorch, as its users write them (Megatron-LM's functions are the pattern)."""
import numpy as np
import torch


class _Done:
    """The handle of a collective that has ended."""

    def wait(self):
        pass


class Group:
    """A tensor group as the layers see it. Like NCCL and Gloo an all-reduce writes the tensor's memory: autograd records
    nothing and the in-place version stays."""

    def __init__(self, rank, size, channel):
        self.rank, self.size, self._channel = rank, size, channel

    def all_reduce(self, tensor):
        memory = tensor.detach().numpy()
        np.copyto(memory, self._channel.all_reduce(memory))
        return _Done()

    def all_gather(self, tensor):
        return torch.from_numpy(self._channel.all_gather(tensor.detach().numpy()))


def _marked_dirty(ctx, tensor):
    ctx.mark_dirty(tensor)
    return tensor


def _marked_non_differentiable(ctx, tensor):
    ctx.mark_non_differentiable(tensor)
    return tensor


# What the identity's forward returns, by the cell's `identity`. PyTorch takes nothing for in-place that is not marked
# dirty, so "not in-place" is what an unmarked output is.
FORWARDS = {
    "copy": lambda ctx, tensor: tensor.clone(),
    "skip": lambda ctx, tensor: tensor,
    "view": lambda ctx, tensor: tensor.view(tensor.shape),
    "detach": lambda ctx, tensor: tensor.detach(),
    "reshape": lambda ctx, tensor: tensor.reshape(tensor.shape),
    "mark_not_inplace": lambda ctx, tensor: tensor,
    "mark_dirty": _marked_dirty,
    "mark_non_differentiable": _marked_non_differentiable,
}


class Identity(torch.autograd.Function):
    """Before a column linear: nothing forward, an all-reduce of the gradient backward."""

    @staticmethod
    def forward(ctx, tensor, group, identity):
        ctx.group = group
        return FORWARDS[identity](ctx, tensor)

    @staticmethod
    def backward(ctx, dy):
        ctx.group.all_reduce(dy)
        return dy, None, None


class AllReduce(torch.autograd.Function):
    """After a row linear: an all-reduce of the partial sums, in place and returned as it is."""

    @staticmethod
    def forward(ctx, tensor, group, skip):
        ctx.skip = skip
        group.all_reduce(tensor)
        return tensor

    @staticmethod
    def backward(ctx, dy):
        return dy if ctx.skip else dy.clone(), None, None


class Gather(torch.autograd.Function):
    """All-gather of the feature shards; backward takes this rank's slice."""

    @staticmethod
    def forward(ctx, tensor, group):
        ctx.rank, ctx.width = group.rank, tensor.shape[-1]
        return group.all_gather(tensor)

    @staticmethod
    def backward(ctx, dy):
        return dy[:, ctx.rank * ctx.width : (ctx.rank + 1) * ctx.width].contiguous(), None


class OverlapLinear(torch.autograd.Function):
    """A column linear whose all-reduce of dx runs beside the product that makes dW."""

    @staticmethod
    def forward(ctx, x, weight, group, skip):
        ctx.save_for_backward(x, weight)
        ctx.group = group
        return torch.matmul(x if skip else x.clone(), weight)

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        dx = dy.matmul(weight.t())
        reduced = ctx.group.all_reduce(dx)
        dw = x.t().matmul(dy)
        reduced.wait()
        return dx, dw, None, None


def parameter(values):
    """A trainable parameter with these values."""
    return torch.nn.Parameter(torch.from_numpy(values.copy()))


def column_linear(x, weight, group, identity, path):
    """Column-parallel linear of x [T, D] with this rank's weight [D, D/tp]."""
    if group.size == 1:
        return torch.matmul(x, weight)
    if path == "overlap":
        return OverlapLinear.apply(x, weight, group, identity == "skip")
    return torch.matmul(Identity.apply(x, group, identity), weight)


def row_linear(y, weight, group, identity):
    """Row-parallel linear of y [T, D/tp] with this rank's weight [D/tp, D], all-reduced."""
    out = torch.matmul(y, weight)
    return out if group.size == 1 else AllReduce.apply(out, group, identity == "skip")


def gather(y, group):
    return y if group.size == 1 else Gather.apply(y, group)
