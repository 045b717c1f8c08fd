"""Two rows of the same cell beside each other: an engine's and a framework's, or two releases'."""
from collections import Counter
from dataclasses import dataclass, field

from cells import NAMES, to_texts
from results import class_name, class_of

RELATIVE = 1e-4  # both sides are float32, added up in different orders
NOISE = 1e-6     # below this a sum is rounding noise of gradients near 1
# Where float32 on one rank is itself off by more than a fifth of RELATIVE, numbers agree within this many times that.
ROUNDINGS = 5
EXACT_COLUMNS = ("outcome", "kind", "where", "freed")


def named_by_rounding(got, expected):
    """Both are the same wrong gradient, but `got` names as the worst another of the parameters that tie for it."""
    return (got["outcome"] == expected["outcome"] and got["where"] != expected["where"]
            and got["where"] in expected.get("ties", "").split())


def relative_bound(expected):
    """How near, relative, the numbers of a cell must be."""
    return max(RELATIVE, ROUNDINGS * float(expected.get("rounding") or 0))


def near(a, b, relative):
    a, b = float(a), float(b)
    # a == b: infinite; a != a: both no number
    return a == b or abs(a - b) <= max(relative * abs(b), NOISE) or (a != a and b != b)


def difference(got, expected):
    """What differs, in words, `got` the engine's and `expected` the framework's row; empty if nothing does."""
    for column in EXACT_COLUMNS:
        if got[column] != expected[column] and not (column == "where" and named_by_rounding(got, expected)):
            return f"{column}: {got[column] or 'empty'}, expected {expected[column] or 'empty'}"
    if bool(got["loss"]) != bool(expected["loss"]):
        return "loss: only one side has one"
    relative = relative_bound(expected)
    if got["loss"] and not near(got["loss"], expected["loss"], relative):
        return f"loss: {got['loss']}, expected {expected['loss']}"
    return _sums_difference(got["checksum"].split(), expected["checksum"].split(), relative)


def _sums_difference(got, expected, relative):
    if len(got) != len(expected):
        return f"checksum: {len(got)} parameters, expected {len(expected)}"
    for mine, other in zip(got, expected):
        name, value = mine.split("=")
        expected_name, expected_value = other.split("=")
        if name != expected_name or not near(value, expected_value, relative):
            return f"checksum: {mine}, expected {other}"
    return ""


@dataclass
class Change:
    """Cells whose outcome or kind is another in a newer release, all in the same way."""

    before: tuple  # (outcome, kind)
    after: tuple
    cells: list = field(default_factory=list)

    def headline(self, new):
        if self.after[0] == "PASS":
            return f"fixed in {new}: {class_name(self.before)}"
        if self.before[0] == "PASS":
            return f"broken since {new}: {class_name(self.after)}"
        return f"fails differently since {new}: {class_name(self.before)} -> {class_name(self.after)}"

    def in_common(self, all_cells):
        """{axis: value} that all these cells share and not all that were compared do."""
        def values_of(cells):
            return [set(values) for values in zip(*(to_texts(cell) for cell in cells))]

        axes = zip(NAMES, values_of(self.cells), values_of(all_cells))
        return {name: min(mine) for name, mine, everywhere in axes if len(mine) == 1 < len(everywhere)}


@dataclass
class VersionComparison:
    """Two runs of the same cells beside each other."""

    changes: list  # Change, the largest first
    moved: int     # same outcome and kind, but another place or other numbers
    same: int


def compare_versions(cells, before, after):
    changes, moved, same = {}, 0, 0
    for cell, old, new in zip(cells, before, after):
        if class_of(old) != class_of(new):
            pair = class_of(old), class_of(new)
            changes.setdefault(pair, Change(*pair)).cells.append(cell)
        elif difference(old, new):
            moved += 1
        else:
            same += 1
    return VersionComparison(sorted(changes.values(), key=lambda change: -len(change.cells)), moved, same)


def count_classes(rows):
    """[(class, count)], the most frequent first."""
    return Counter(class_of(row) for row in rows).most_common()
