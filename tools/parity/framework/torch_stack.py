"""The blocks of the stack model (stack_model.py) on PyTorch."""
import torch

from . import stack_model, torch_layers

model = stack_model


class Blocks:
    """A stage's blocks on one rank. `part(name)` gives this rank's values of a weight."""

    def __init__(self, cell, group, blocks, part):
        self._cell, self._group = cell, group
        names = [f"col{b}.{j}" for b in blocks for j in range(cell["fan_out"])]
        if cell["tail"] == "row":
            names += [f"row{b}" for b in blocks]
        self.parameters = {name: torch_layers.parameter(part(name)) for name in names}

    def run(self, b, x):
        cell, group = self._cell, self._group
        h = torch.mul(x, 1.0) if cell["first_op"] == "scale" else x
        y = None
        for j in range(cell["fan_out"]):
            term = torch_layers.column_linear(h, self.parameters[f"col{b}.{j}"], group, cell["identity"], cell["path"])
            y = term if y is None else y + term
            del term  # a name that keeps an object alive is no part of the model
        if cell["tail"] == "row":
            y = torch_layers.row_linear(y, self.parameters[f"row{b}"], group, cell["identity"])
        else:
            y = torch_layers.gather(y, group)
        return y + x if cell["residual"] else y
