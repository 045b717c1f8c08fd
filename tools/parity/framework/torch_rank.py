"""One rank of one cell on PyTorch: the loss, what a pipeline sends and releases, the gradients at the end. What a block is
comes from outside (torch_stack.py)."""
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import torch._dynamo  # noqa: E402,F401  which checkpoint imports at its first use: here once, not in each forked rank
from torch.autograd import Variable  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from . import torch_layers  # noqa: E402
from .step import Step, describe  # noqa: E402
from .values import DATA, TARGET, make_values  # noqa: E402

NAME, VERSION = "torch", torch.__version__.split("+")[0]

# What an error's text must contain to be of a kind (docs/semantics.md, "Kinds of errors"); the first that fits.
KINDS = (
    ("LEAF_INPLACE", ("a leaf Variable that requires grad",)),
    ("VIEW_INPLACE", ("is a view and", "inplace")),
    ("INPLACE_VERSION", ("has been modified by an inplace operation", "expected version")),
    ("NO_GRAD_FN", ("does not require grad and does not have a grad_fn",)),
    ("NO_INPUT_GRAD", ("grad can be implicitly created only for scalar outputs",)),
    ("NO_INPUT_GRAD", ("invalid gradient at index 0 - got [1]",)),
    ("RELEASED_VIEW", ("counter-productive to free a view of another tensor",)),
    ("NO_GRAD_NEEDED", ("not necessary",)),
    ("GRAPH_FREED", ("backward through the graph a second time",)),
    ("REPLAY_MISMATCH", ("torch.utils.checkpoint:",)),
)


def prepare():
    """Once, before ranks are forked: a pool of threads would not outlive the fork."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)


def run_rank(scenario, cell, stage, tp_rank, channel):
    """This rank's report (judge.py). `scenario` has Blocks and their model."""
    step = _Step(scenario, cell, stage, tp_rank, channel)
    try:
        step.run()
        return step.report()
    except Exception as error:
        return {"error": describe(error, channel, KINDS, str(error).split("\n")[0][:200])}


def _release(output):
    """Megatron-LM's deallocate_output_tensor: the data goes, the history stays."""
    assert output._base is None, "counter-productive to free a view of another tensor."
    output.data = torch.empty((1,), dtype=output.dtype)


def _backward_from_released(output, grad):
    """Megatron-LM's custom_backward: the engine without the check of shapes, which a released output would not pass."""
    assert output.numel() == 1, "output should be pseudo-'freed' in schedule, to optimize memory"
    if grad is None:
        grad = torch.ones_like(output, memory_format=torch.preserve_format)
    Variable._execution_engine.run_backward(tensors=(output,), grad_tensors=(grad,), keep_graph=False,
                                            create_graph=False, inputs=(), allow_unreachable=True,
                                            accumulate_grad=True)


class _Step(Step):
    def __init__(self, scenario, cell, stage, tp_rank, channel):
        super().__init__(scenario, cell, stage, tp_rank, channel)
        self._inputs, self._outputs = [], []
        self._loss, self._freed = 0.0, 0
        self._parameters = {}
        if self.has_embedding():
            self._parameters["embed"] = torch_layers.parameter(self.part("embed"))
        self._blocks = scenario.Blocks(cell, torch_layers.Group(tp_rank, cell["tp"], channel), self.blocks, self.part)
        self._parameters |= self._blocks.parameters

    def _constant(self, kind, micro_batch):
        return torch.from_numpy(make_values(kind, micro_batch, 0, (self.cell["tokens"], self.cell["hidden"])).copy())

    def _layers(self, x):
        if "embed" in self._parameters:
            x = torch.matmul(x, self._parameters["embed"])
        kind = self.cell["recompute"]
        for b in self.blocks:
            if kind == "none":
                x = self._blocks.run(b, x)
            else:
                x = checkpoint(lambda inner, b=b: self._blocks.run(b, inner), x, use_reentrant=kind == "reentrant",
                               preserve_rng_state=False)
        return x

    def forward(self, m):
        if self.stage == 0:
            x = self._constant(DATA, m)
        else:
            x = torch.from_numpy(self.channel.receive(self.stage - 1)).requires_grad_()
        y = self._layers(x)
        if self.last:
            y = self._divided_and_scaled(((y - self._constant(TARGET, m)) ** 2).mean())
        else:
            self.channel.send(self.stage + 1, y.detach().numpy())
            if self.cell["release"]:
                _release(y)
                self._freed += 1
        self._inputs.append(x)
        self._outputs.append(y)

    def _divided_and_scaled(self, loss):
        cell = self.cell
        if cell["loss_division"] == "immediate":
            loss = loss / cell["acc"]
            self._loss += float(loss)
        else:
            self._loss += float(loss) / cell["acc"]
        return loss if cell["loss_scale"] == 1 else loss * cell["loss_scale"]

    def backward(self, m):
        x, y = self._inputs.pop(0), self._outputs.pop(0)
        grad = None
        if not self.last:
            received = self.channel.receive(self.stage + 1)
            grad = None if received is None else torch.from_numpy(received)
        if self.cell["release"]:
            _backward_from_released(y, grad)
        else:
            torch.autograd.backward([y], [grad])
        if self.stage > 0:
            self.channel.send(self.stage - 1, None if x.grad is None else x.grad.numpy())

    def report(self):
        factor = self.grad_factor()
        grads = {name: None if parameter.grad is None else (parameter.grad * factor).numpy()
                 for name, parameter in self._parameters.items()}
        return {"loss": self._loss, "freed": self._freed, "grads": grads}
