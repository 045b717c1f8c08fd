"""One step of one rank, whatever the framework: which weights it holds, and the 1F1B schedule."""


class Step:
    """A framework's step derives from this one and has `forward(m)` and `backward(m)`; `channel` says where it is."""

    def __init__(self, scenario, cell, stage, tp_rank, channel):
        self.cell, self.stage, self.channel = cell, stage, channel
        self.last = stage == cell["pp"] - 1
        self._tp_rank = tp_rank
        self._weights = {parameter.name: parameter for parameter in scenario.model.parameters(cell)}
        blocks_a_stage = cell["blocks"] // cell["pp"]
        self.blocks = range(stage * blocks_a_stage, (stage + 1) * blocks_a_stage)

    def part(self, name):
        """This rank's values of a weight."""
        weight = self._weights[name]
        return weight.part(weight.whole(), self._tp_rank, self.cell["tp"])

    def has_embedding(self):
        return bool(self.cell["embed"]) and self.stage == 0

    def run(self):
        """One forward, one backward in turn, after as many forwards as there are stages behind this one."""
        acc = self.cell["acc"]
        warm_up = min(self.cell["pp"] - self.stage - 1, acc)
        for m in range(warm_up):
            self._enter_forward(m)
        for m in range(acc - warm_up):
            self._enter_forward(warm_up + m)
            self._enter_backward(m)
        for m in range(acc - warm_up, acc):
            self._enter_backward(m)

    def _enter_forward(self, m):
        self.channel.enter(f"forward {m}")
        self.forward(m)

    def _enter_backward(self, m):
        self.channel.enter(f"backward {m}")
        self.backward(m)

    def grad_factor(self):
        """What the loss scale and a delayed division are taken out of the gradients with."""
        factor = 1.0 / self.cell["loss_scale"]
        return factor / self.cell["acc"] if self.cell["loss_division"] == "delayed" else factor


def describe(error, channel, kinds, message):
    """A report's `error` (judge.py). `kinds`: (kind, words that the text must contain) of the framework's errors, the
    first that fits."""
    text = str(error)
    kind = "PEER_LOST"
    if not channel.lost_peer:
        fitting = (kind for kind, words in kinds if all(word in text for word in words))
        kind = next(fitting, type(error).__name__)
    return {"class": "ERROR", "kind": kind, "phase": channel.phase, "message": message, "own": not channel.lost_peer}
