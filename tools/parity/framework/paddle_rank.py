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
from .step import Step, describe  # noqa: E402
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
            return {"error": describe(error, channel, KINDS, _message(str(error)))}


def _message(text):
    """The line of a long C++ report that says what is wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "InvalidArgument" in line or "PermissionDenied" in line]
    return (telling or lines or [""])[-1][:200]


class _Step(Step):
    def __init__(self, scenario, cell, stage, tp_rank, channel):
        super().__init__(scenario, cell, stage, tp_rank, channel)
        self._inputs, self._outputs = [], []
        self._loss, self._freed = 0.0, 0
        self._parameters = {}
        if self.has_embedding():
            self._parameters["embed"] = paddle_layers.parameter(self.part("embed"))
        self._blocks = scenario.Blocks(cell, paddle_layers.Group(tp_rank, cell["tp"], channel), self.blocks, self.part)
        self._parameters |= self._blocks.parameters

    def _constant(self, kind, micro_batch):
        return paddle.to_tensor(make_values(kind, micro_batch, 0, (self.cell["tokens"], self.cell["hidden"])))

    def _layers(self, x):
        if "embed" in self._parameters:
            x = paddle.matmul(x, self._parameters["embed"])
        kind = self.cell["recompute"]
        for b in self.blocks:
            if kind == "none":
                x = self._blocks.run(b, x)
            else:
                x = recompute(lambda inner, b=b: self._blocks.run(b, inner), x, use_reentrant=kind == "reentrant",
                              preserve_rng_state=False)
        return x

    def forward(self, m):
        if self.stage == 0:
            x = self._constant(DATA, m)
        else:
            x = paddle.to_tensor(self.channel.receive(self.stage - 1))
            x.stop_gradient = False
        y = self._layers(x)
        if self.last:
            y = self._divided_and_scaled(((y - self._constant(TARGET, m)) ** 2).mean())
        else:
            self.channel.send(self.stage + 1, y.numpy())
            self._release(y)
        self._inputs.append(x)
        self._outputs.append(y)

    def _divided_and_scaled(self, loss):
        """As the framework's pipeline does it: divided here, or in the gradients at the end (delay_scale_loss)."""
        cell = self.cell
        if cell["loss_division"] == "immediate":
            loss = loss / cell["acc"]
            self._loss += float(loss)
        else:
            self._loss += float(loss) / cell["acc"]
        return loss if cell["loss_scale"] == 1 else loss * cell["loss_scale"]

    def _release(self, y):
        """The framework's pipeline frees an output that it has sent, unless it was written in place."""
        if self.cell["release"] and y._is_initialized() and y.inplace_version == 0:
            y._clear_dataptr()
            self._freed += 1

    def backward(self, m):
        x, y = self._inputs.pop(0), self._outputs.pop(0)
        if self.last:
            paddle.autograd.backward([y], [None])
        else:
            # to_tensor(None) raises what the framework's pipeline raises for a gradient that isn't there.
            paddle.autograd.backward([y], [paddle.to_tensor(self.channel.receive(self.stage + 1))])
        if self.stage > 0:
            self.channel.send(self.stage - 1, None if x.grad is None else x.grad.numpy())

    def report(self):
        factor = self.grad_factor()
        grads = {}
        for name, parameter in self._parameters.items():
            grad = parameter.grad
            if grad is not None:
                grad = (grad if factor == 1.0 else paddle.scale(grad, factor)).numpy()
            grads[name] = grad
        return {"loss": self._loss, "freed": self._freed, "grads": grads}
