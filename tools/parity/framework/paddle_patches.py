"""What a skipped identity does instead of returning its input: the identity variants of a cell, and the candidate fixes of
PaddlePaddle issue 59290. Each is a few lines that change the framework at run time; all but the last touch
`c_identity_eager` only, where its skip flag is on."""
import contextlib

import paddle
from paddle.distributed.fleet.layers.mpu import mp_ops

IDENTITY, ALL_REDUCE = mp_ops.c_identity_eager, mp_ops.mp_allreduce_eager


def _forward_gives(give):
    """c_identity_eager.forward with another result where skip is on."""
    original = IDENTITY.forward

    def forward(ctx, tensor, group, skip):
        if not skip:
            return original(ctx, tensor, group, skip)
        ctx.group = group
        return give(ctx, tensor)

    return [(IDENTITY, "forward", staticmethod(forward))]


def _mark(ctx, tensor):
    ctx.mark_not_inplace(tensor)
    return tensor


def _ignore_skip():
    original = IDENTITY.forward
    return [(IDENTITY, "forward", staticmethod(lambda ctx, tensor, group, skip: original(ctx, tensor, group, False)))]


def _scale_first():
    original = IDENTITY.apply
    return [(IDENTITY, "apply", staticmethod(lambda tensor, *rest: original(paddle.scale(tensor, 1.0), *rest)))]


def _new_handles():
    """What PyLayer.apply could do itself: an input that is returned as it is becomes a new handle (a view)."""
    changes = []
    for layer in (IDENTITY, ALL_REDUCE):
        original = layer.forward

        def forward(ctx, tensor, *rest, original=original):
            out = original(ctx, tensor, *rest)
            return out.view(out.shape) if out is tensor else out

        changes.append((layer, "forward", staticmethod(forward)))
    return changes


PATCHES = {
    "view": lambda: _forward_gives(lambda ctx, tensor: tensor.view(tensor.shape)),
    "copy": _ignore_skip,
    "detach": lambda: _forward_gives(lambda ctx, tensor: tensor.detach()),
    "reshape": lambda: _forward_gives(lambda ctx, tensor: tensor.reshape(tensor.shape)),
    "mark_not_inplace": lambda: _forward_gives(_mark),
    "scale_in_layer": _scale_first,
    "new_handle_in_pylayer": _new_handles,
}


def patch_of(cell):
    """The name of the patch that a cell is to run with; None: the framework as released."""
    if "patch" in cell:
        return cell["patch"]
    return None if cell["identity"] in ("copy", "skip") else cell["identity"]


@contextlib.contextmanager
def patched(name):
    """The framework with a patch; None: as released."""
    changes = PATCHES[name]() if name else []
    before = [(layer, attribute, layer.__dict__.get(attribute)) for layer, attribute, _ in changes]
    for layer, attribute, value in changes:
        setattr(layer, attribute, value)
    try:
        yield
    finally:
        for layer, attribute, value in before:
            if value is None:
                delattr(layer, attribute)
            else:
                setattr(layer, attribute, value)
