"""A quantised LoRA column layer a block (repro/qlora_model.hpp): y = x W + (x A) B with W frozen. Its
weights, and its step on one rank, written out by hand; in float64 that is the right answer."""
import functools

import numpy as np

from .values import COLUMN, DATA, EMBEDDING, TARGET, Parameter, make_values


def adapter_rank(cell):
    return max(1, cell["hidden"] // 4)


def parameters(cell):
    hidden, rank = cell["hidden"], adapter_rank(cell)
    found = [Parameter("embed", EMBEDDING, (hidden, hidden))] if cell["embed"] else []
    for b in range(cell["blocks"]):
        found += [Parameter(f"base{b}", COLUMN, (hidden, hidden), b, 0, "columns", trainable=False),
                  Parameter(f"loraA{b}", EMBEDDING, (hidden, rank), b, 1),
                  Parameter(f"loraB{b}", EMBEDDING, (rank, hidden), b, 2, "columns")]
    return found


def reference(cell, precision=np.float64):
    """(loss, {parameter name: gradient of the whole tensor}); parallelism and recomputation don't change either."""
    return _reference(precision, *(cell[key] for key in ("acc", "blocks", "hidden", "tokens", "embed")))


@functools.lru_cache(maxsize=256)
def _reference(precision, acc, blocks, hidden, tokens, embed):
    cell = {"blocks": blocks, "hidden": hidden, "embed": embed}
    weights = {parameter.name: parameter.whole().astype(precision) for parameter in parameters(cell)}
    grads = {}

    def add(name, value):
        grads[name] = grads.get(name, 0) + value

    loss = 0.0
    for m in range(acc):
        data = make_values(DATA, m, 0, (tokens, hidden)).astype(precision)
        x = data @ weights["embed"] if embed else data
        kept = []
        for b in range(blocks):
            kept.append(x)
            x = x @ weights[f"base{b}"] + x @ weights[f"loraA{b}"] @ weights[f"loraB{b}"]
        off = x - make_values(TARGET, m, 0, (tokens, hidden))
        loss += (off**2).mean() / acc
        dx = 2 * off / off.size / acc
        for b in reversed(range(blocks)):
            x, a, up = kept[b], weights[f"loraA{b}"], weights[f"loraB{b}"]
            add(f"loraA{b}", x.T @ (dx @ up.T))
            add(f"loraB{b}", (x @ a).T @ dx)
            dx = dx @ weights[f"base{b}"].T + dx @ up.T @ a.T
        if embed:
            add("embed", data.T @ dx)
    return loss, grads
