"""The model of most scenarios (repro/stack_model.hpp): its weights, and its step on one rank, written out by hand; in
float64 that is the right answer. Shares nothing with the engine's."""
import functools

import numpy as np

from .values import COLUMN, DATA, EMBEDDING, ROW, TARGET, Parameter, make_values


def parameters(cell):
    """In the order in which they are reported: embedding, columns, rows."""
    square = (cell["hidden"], cell["hidden"])
    blocks = range(cell["blocks"])
    found = [Parameter("embed", EMBEDDING, square)] if cell["embed"] else []
    found += [Parameter(f"col{b}.{j}", COLUMN, square, b, j, "columns") for b in blocks for j in range(cell["fan_out"])]
    if cell["tail"] == "row":
        found += [Parameter(f"row{b}", ROW, square, b, 0, "rows") for b in blocks]
    return found


SHAPE_KEYS = ("acc", "blocks", "fan_out", "hidden", "tokens", "tail", "residual", "embed")


def reference(cell, precision=np.float64):
    """(loss, {parameter name: gradient of the whole tensor}); parallelism and recomputation don't change either."""
    return _reference(precision, *(cell[key] for key in SHAPE_KEYS))


@functools.lru_cache(maxsize=256)
def _reference(precision, acc, blocks, fan_out, hidden, tokens, tail, residual, embed):
    def tensor(kind, number, term, rows):
        return make_values(kind, number, term, (rows, hidden)).astype(precision)

    grads = {}

    def add(name, value):
        grads[name] = grads.get(name, 0) + value

    loss = 0.0
    for m in range(acc):
        data = tensor(DATA, m, 0, tokens)
        x = data @ tensor(EMBEDDING, 0, 0, hidden) if embed else data
        kept = []
        for b in range(blocks):
            y = sum(x @ tensor(COLUMN, b, j, hidden) for j in range(fan_out))
            kept.append((x, y))
            out = y @ tensor(ROW, b, 0, hidden) if tail == "row" else y
            x = out + x if residual else out
        off = x - tensor(TARGET, m, 0, tokens)
        loss += (off**2).mean() / acc
        dx = 2 * off / off.size / acc
        for b in reversed(range(blocks)):
            x, y = kept[b]
            dy = dx
            if tail == "row":
                add(f"row{b}", y.T @ dx)
                dy = dx @ tensor(ROW, b, 0, hidden).T
            below = dx if residual else 0.0
            for j in range(fan_out):
                add(f"col{b}.{j}", x.T @ dy)
                below = below + dy @ tensor(COLUMN, b, j, hidden).T
            dx = below
        if embed:
            add("embed", data.T @ dx)
    return loss, grads
