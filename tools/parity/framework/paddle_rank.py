"""One rank of one cell on PaddlePaddle: the 1F1B schedule, the loss, the gradients at the end. What a block is comes from
outside (paddle_stack.py)."""
import logging
import os
import warnings

os.environ.setdefault("GLOG_minloglevel", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"  # else the overlapping linear warns and adds an operator
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import paddle  # noqa: E402
from paddle.distributed.fleet.recompute import recompute  # noqa: E402

from . import paddle_layers, paddle_patches  # noqa: E402
from .channel import PeerLost  # noqa: E402
from .values import DATA, TARGET, make_values  # noqa: E402

NAME, VERSION = "paddle", paddle.__version__

# What an error's text must contain to be of a kind (docs/semantics.md, "Kinds of errors"); the first that fits.
KINDS = (
    ("LEAF_INPLACE", ("can't use inplace strategy",)),
    ("INPLACE_VERSION", ("wrapper_version_snapshot",)),
    ("GRAD_FOR_STOPPED_INPUT", ("_Py_NoneStruct",)),
    ("NO_INPUT_GRAD", ("NoneType", "paddle.Tensor")),
    ("SAVE_NONE", ("save_for_backward only support",)),
    ("NO_GRAD_NEEDED", ("not necessary",)),
)


def prepare():
    """Once, before ranks are forked."""
    paddle_layers.use_cpu()


def run_rank(scenario, cell, stage, tp_rank, channel):
    """This rank's report (judge.py). `scenario` has Blocks and their model."""
    paddle.set_grad_enabled(True)  # an error inside a custom function may have left it off
    step = _Step(scenario, cell, stage, tp_rank, channel)
    with paddle_patches.patched(paddle_patches.patch_of(cell)):
        try:
            step.run()
            return step.report()
        except Exception as error:
            return {"error": _describe(error, channel)}


def _describe(error, channel):
    text = str(error)
    own = not (channel.lost_peer or isinstance(error, PeerLost))
    kind = "PEER_LOST"
    if own:
        fitting = (kind for kind, words in KINDS if all(word in text for word in words))
        kind = next(fitting, type(error).__name__)
    return {"class": "ERROR", "kind": kind, "phase": channel.phase, "message": _message(text), "own": own}


def _message(text):
    """The line of a long C++ report that says what is wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "InvalidArgument" in line or "PermissionDenied" in line]
    return (telling or lines or [""])[-1][:200]


class _Step:
    def __init__(self, scenario, cell, stage, tp_rank, channel):
        self._cell, self._stage, self._channel = cell, stage, channel
        self._last = stage == cell["pp"] - 1
        self._inputs, self._outputs = [], []
        self._loss, self._freed = 0.0, 0
        weights = {parameter.name: parameter for parameter in scenario.model.parameters(cell)}

        def part(name):
            return weights[name].part(weights[name].whole(), tp_rank, cell["tp"])

        blocks_a_stage = cell["blocks"] // cell["pp"]
        self._numbers = range(stage * blocks_a_stage, (stage + 1) * blocks_a_stage)
        self._parameters = {}
        if cell["embed"] and stage == 0:
            self._parameters["embed"] = paddle_layers.parameter(part("embed"))
        group = paddle_layers.Group(tp_rank, cell["tp"], channel)
        self._blocks = scenario.Blocks(cell, group, self._numbers, part)
        self._parameters |= self._blocks.parameters

    def _constant(self, kind, micro_batch):
        return paddle.to_tensor(make_values(kind, micro_batch, 0, (self._cell["tokens"], self._cell["hidden"])))

    def _layers(self, x):
        if "embed" in self._parameters:
            x = paddle.matmul(x, self._parameters["embed"])
        kind = self._cell["recompute"]
        for b in self._numbers:
            if kind == "none":
                x = self._blocks.run(b, x)
            else:
                x = recompute(lambda inner, b=b: self._blocks.run(b, inner), x, use_reentrant=kind == "reentrant",
                              preserve_rng_state=False)
        return x

    def _forward(self, m):
        self._channel.enter(f"forward {m}")
        if self._stage == 0:
            x = self._constant(DATA, m)
        else:
            x = paddle.to_tensor(self._channel.receive(self._stage - 1))
            x.stop_gradient = False
        y = self._layers(x)
        if self._last:
            y = self._divided_and_scaled(((y - self._constant(TARGET, m)) ** 2).mean())
        else:
            self._channel.send(self._stage + 1, y.numpy())
            self._release(y)
        self._inputs.append(x)
        self._outputs.append(y)

    def _divided_and_scaled(self, loss):
        """As the framework's pipeline does it: divided here, or in the gradients at the end (delay_scale_loss)."""
        cell = self._cell
        if cell["loss_division"] == "immediate":
            loss = loss / cell["acc"]
            self._loss += float(loss)
        else:
            self._loss += float(loss) / cell["acc"]
        return loss if cell["loss_scale"] == 1 else loss * cell["loss_scale"]

    def _release(self, y):
        """The framework's pipeline frees an output that it has sent, unless it was written in place."""
        if self._cell["release"] and y._is_initialized() and y.inplace_version == 0:
            y._clear_dataptr()
            self._freed += 1

    def _backward(self, m):
        self._channel.enter(f"backward {m}")
        x, y = self._inputs.pop(0), self._outputs.pop(0)
        if self._last:
            paddle.autograd.backward([y], [None])
        else:
            # to_tensor(None) raises what the framework's pipeline raises for a gradient that isn't there.
            paddle.autograd.backward([y], [paddle.to_tensor(self._channel.receive(self._stage + 1))])
        if self._stage > 0:
            self._channel.send(self._stage - 1, None if x.grad is None else x.grad.numpy())

    def run(self):
        """One forward, one backward in turn, after as many forwards as there are stages behind this one."""
        acc = self._cell["acc"]
        warm_up = min(self._cell["pp"] - self._stage - 1, acc)
        for m in range(warm_up):
            self._forward(m)
        for m in range(acc - warm_up):
            self._forward(warm_up + m)
            self._backward(m)
        for m in range(acc - warm_up, acc):
            self._backward(m)

    def report(self):
        factor = 1.0 / self._cell["loss_scale"]
        if self._cell["loss_division"] == "delayed":
            factor /= self._cell["acc"]
        grads = {}
        for name, parameter in self._parameters.items():
            grad = parameter.grad
            if grad is not None:
                grad = (grad if factor == 1.0 else paddle.scale(grad, factor)).numpy()
            grads[name] = grad
        return {"loss": self._loss, "freed": self._freed, "grads": grads}
