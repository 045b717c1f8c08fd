"""A cell: every size and toggle of one run, as a dict. The table of axes mirrors src/config/cell.cpp."""
from dataclasses import dataclass

NUMBER, SWITCH, CHOICE, FACTOR = "number", "switch", "choice", "factor"


class UsageError(Exception):
    """What the user gave can't be used; exit status 2."""


class SetupError(Exception):
    """Something that the tool needs is not there or broke; exit status 3."""


class NotHereError(SetupError):
    """The framework can't be installed here; exit status 77."""


@dataclass(frozen=True)
class Axis:
    name: str
    form: str
    default: object
    values: tuple = ()  # CHOICE: what it takes

    def parse(self, text):
        try:
            if self.form == CHOICE and text in self.values:
                return text
            if self.form == SWITCH and text in ("0", "1"):
                return int(text)
            if self.form == NUMBER and int(text) >= 1:
                return int(text)
            if self.form == FACTOR and float(text) > 0:
                return float(text)
        except ValueError:
            pass
        expected = {CHOICE: "one of " + ", ".join(self.values), SWITCH: "0 or 1", NUMBER: "a whole number above 0",
                    FACTOR: "a number above 0"}[self.form]
        raise UsageError(f"{self.name}: got '{text}', expected {expected}")

    def text(self, value):
        return f"{value:g}" if self.form == FACTOR else str(value)


IDENTITIES = ("copy", "skip", "view", "detach", "reshape", "mark_not_inplace")
PYTORCH_MARKS = ("mark_dirty", "mark_non_differentiable")  # what only PyTorch's functions can say of an output
OVERLAP_IDENTITIES = ("copy", "skip")

AXES = (
    Axis("tp", NUMBER, 2),
    Axis("pp", NUMBER, 2),
    Axis("acc", NUMBER, 4),
    Axis("recompute", CHOICE, "none", ("none", "reentrant", "nonreentrant")),
    Axis("identity", CHOICE, "copy", IDENTITIES + PYTORCH_MARKS),
    Axis("path", CHOICE, "identity", ("identity", "overlap")),
    Axis("first_op", CHOICE, "none", ("none", "scale")),
    Axis("fan_out", NUMBER, 1),
    Axis("tail", CHOICE, "row", ("gather", "row")),
    Axis("residual", SWITCH, 0),
    Axis("embed", SWITCH, 1),
    Axis("release", SWITCH, 0),
    Axis("blocks", NUMBER, None),  # max(2, pp)
    Axis("hidden", NUMBER, 8),
    Axis("tokens", NUMBER, 3),
    Axis("loss_scale", FACTOR, 1.0),
    Axis("loss_division", CHOICE, "immediate", ("immediate", "delayed")),
)
NAMES = tuple(axis.name for axis in AXES)


def default_blocks(pp):
    return max(2, pp)


def with_defaults(given):
    """The whole cell from some of its axes."""
    cell = {axis.name: given.get(axis.name, axis.default) for axis in AXES}
    if cell["blocks"] is None:
        cell["blocks"] = default_blocks(cell["pp"])
    return cell


def why_impossible(cell):
    """Why a cell can't be run, in words; empty if it can."""
    if cell["hidden"] % cell["tp"]:
        return f"tp {cell['tp']} can't split {cell['hidden']} features evenly"
    if cell["blocks"] % cell["pp"]:
        return f"pp {cell['pp']} can't spread {cell['blocks']} blocks evenly"
    if cell["tp"] == 1 and (cell["identity"] != "copy" or cell["path"] != "identity"):
        return "at tp 1 identity must be copy and path identity"
    if cell["path"] == "overlap" and cell["identity"] not in OVERLAP_IDENTITIES:
        return "the overlap path knows identity copy and skip only"
    if cell["pp"] == 1 and cell["release"]:
        return "release needs pp above 1"
    return ""


def identities_of(framework):
    """What `identity` can be on a framework."""
    return IDENTITIES + (PYTORCH_MARKS if framework.startswith("torch@") else ())


def why_not_on(framework, cell):
    """Why a cell can't be run on a framework, in words; empty if it can."""
    if cell["identity"] in identities_of(framework):
        return ""
    return f"{framework} has no {cell['identity']}: an input that a custom function returns is always in-place there"


def to_texts(cell):
    """The values as they stand in a file, in the order of NAMES."""
    return [axis.text(cell[axis.name]) for axis in AXES]


def key(cell):
    """Equal for equal cells, whatever file they came from."""
    return tuple(to_texts(cell))


def to_flags(cell):
    """The flags of a scenario program that make this cell, those at their default left out."""
    defaults = with_defaults({"pp": cell["pp"]}) | {"pp": 2}
    flags = []
    for axis in AXES:
        value = cell[axis.name]
        if value == defaults[axis.name]:
            continue
        name = axis.name.replace("_", "-")
        if axis.form == SWITCH:
            flags.append(f"--{name}" if value else f"--no-{name}")
        else:
            flags.append(f"--{name}={axis.text(value)}")
    return " ".join(flags)
