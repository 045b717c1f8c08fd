"""The sweep: every cell of the default size, with one or two ranks in each direction and one or four micro-batches."""
import itertools

from cells import AXES, CHOICE, IDENTITIES, SWITCH, why_impossible, with_defaults

NUMBERS = {"tp": (1, 2), "pp": (1, 2), "acc": (1, 4), "fan_out": (1, 2, 3)}
PINNED = ("blocks", "hidden", "tokens", "loss_scale", "loss_division")


def sweep(identities=IDENTITIES):
    axes = [axis for axis in AXES if axis.name not in PINNED]
    values = {CHOICE: lambda axis: axis.values, SWITCH: lambda axis: (0, 1)}
    chosen = NUMBERS | {"identity": identities}
    columns = [chosen[axis.name] if axis.name in chosen else values[axis.form](axis) for axis in axes]
    cells = (with_defaults(dict(zip((axis.name for axis in axes), point))) for point in itertools.product(*columns))
    return [cell for cell in cells if not why_impossible(cell)]
