"""Weights, data and targets: the formula of tests/data/README.md, the same numbers as the engine's."""
import functools
from dataclasses import dataclass

import numpy as np

EMBEDDING, COLUMN, ROW, DATA, TARGET = range(5)
BASE_HIDDEN = 8  # column and row weights of wider or narrower models are scaled by sqrt(8 / hidden)


@functools.lru_cache(maxsize=4096)
def make_values(kind, number, term, shape):
    """The whole float32 tensor, read-only. `number` is a weight's block or a micro-batch, `term` a column linear's
    place in its block."""
    key = kind * 97 + number * 31 + term * 13
    i = np.arange(shape[0] * shape[1], dtype=np.int64)
    values = (((i * 37 + key * 11 + 5) % 101) - 50) / 100.0
    if kind in (COLUMN, ROW) and shape[0] != BASE_HIDDEN:
        values = values * np.sqrt(BASE_HIDDEN / shape[0])
    values = values.astype(np.float32).reshape(shape)
    values.flags.writeable = False
    return values


@dataclass(frozen=True)
class Parameter:
    """A weight of the whole model; `split`: "columns" or "rows" where a tensor rank holds a part of it, else ""."""

    name: str
    kind: int
    shape: tuple
    block: int = 0
    term: int = 0
    split: str = ""
    trainable: bool = True

    def whole(self):
        return make_values(self.kind, self.block, self.term, self.shape)

    def part(self, whole, tp_rank, tp):
        """What a tensor rank holds of the weight, or of its gradient."""
        if not self.split:
            return whole
        width = whole.shape[self.split == "columns"] // tp
        mine = slice(tp_rank * width, (tp_rank + 1) * width)
        return whole[:, mine] if self.split == "columns" else whole[mine, :]
