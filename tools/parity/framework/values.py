"""Weights, data and targets: the formula of tests/data/README.md, the same numbers as the engine's."""
import functools

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


def shard(name, whole, tp_rank, tp):
    """The part of a parameter (or of its gradient) that a tensor rank holds: columns of `col...`, rows of
    `row...`, all of `embed`."""
    width = whole.shape[0] // tp
    mine = slice(tp_rank * width, (tp_rank + 1) * width)
    if name.startswith("col"):
        return whole[:, mine]
    if name.startswith("row"):
        return whole[mine, :]
    return whole
