"""What is printed."""
from collections import Counter

from cells import AXES, to_flags
from compare import RELATIVE, count_classes, relative_bound
from fixes import CANDIDATES
from results import class_name, class_of

WANTED_SHARE = 0.03
SHOWN_CELLS = 3  # of a change between releases; all stand in --out


def _plain(text):
    """Control characters from a framework's message don't reach the terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def agreement(scenario, framework, cells, checked, culprit_version):
    beside = f" and {scenario.addition}" if scenario.addition else ""
    lines = [f"{scenario.name}: {framework}{beside} (their own autograd, recompute and layers, CPU) against "
             f"{culprit_version}", ""]
    wrong = Counter(class_of(checked.rows[_index(cells, d.cell)]) for d in checked.differences)
    lines.append(f"{'outcome':<32} {'cells':>6} {'share':>7} {'agree':>6}")
    for its_class, count in count_classes(checked.rows):
        share = count / len(cells)
        mark = "" if share >= WANTED_SHARE else "   below 3 %"
        lines.append(f"{class_name(its_class):<32} {count:>6} {share:>7.1%} {count - wrong[its_class]:>6}{mark}")
    lines += ["", *_axis_counts(cells), ""]
    for d in checked.differences:
        lines.append(f"differs: {scenario.name} --framework={framework} {to_flags(d.cell)}")
        lines.append(f"         {_plain(d.text)}" + (f"   ({_plain(d.detail)})" if d.detail else ""))
    for cell in checked.unsteady:
        lines.append(f"unsteady: another result in fresh processes, which counts: {to_flags(cell)}")
    coarse = [relative_bound(row) for row in checked.rows if relative_bound(row) > RELATIVE]
    if coarse:
        lines.append(f"{len(coarse)} cells, whose float32 on one rank is off by more, are compared within "
                     f"{min(coarse):.1e} to {max(coarse):.1e} instead of {RELATIVE:g} (relative)")
    if checked.from_record:
        lines.append(f"{checked.from_record} cells were taken from the record")
    agree = len(cells) - len(checked.differences)
    lines.append(f"agreement: {agree} of {len(cells)} cells ({agree / len(cells):.2%})")
    return "\n".join(lines)


def _index(cells, cell):
    return next(i for i, other in enumerate(cells) if other is cell)


def _axis_counts(cells):
    """One line an axis: how often each value stands in the cells."""
    for axis in AXES:
        counts = sorted(Counter(cell[axis.name] for cell in cells).items())
        yield f"  {axis.name:<14} " + "  ".join(f"{axis.text(value)}: {count}" for value, count in counts)


def versions(scenario, old, new, source, cells, comparison):
    changed = sum(len(change.cells) for change in comparison.changes)
    lines = [f"{scenario.name}, {old} -> {new}, {source}: {len(cells)} cells, {changed} changed", ""]
    for change in comparison.changes:
        lines.append(f"{change.headline(new)}: {len(change.cells)} cells")
        common = " ".join(f"{name}={value}" for name, value in change.in_common(cells).items())
        lines.append(f"    in common: {common or 'nothing'}")
        lines += [f"    {to_flags(cell)}" for cell in change.cells[:SHOWN_CELLS]]
        if len(change.cells) > SHOWN_CELLS:
            lines.append(f"    and {len(change.cells) - SHOWN_CELLS} more")
    if comparison.moved:
        lines.append(f"the same outcome at another place or with other numbers: {comparison.moved} cells")
    lines.append(f"the same: {comparison.same} cells")
    return "\n".join(lines)


def _effects_text(counts):
    """`clears 96`, or each effect with its number of cells."""
    return ", ".join(f"{effect} {count}" for effect, count in counts.most_common())


def fixes(scenario, framework, table, costs):
    """A Markdown table: candidates by ways of failing."""
    total = sum(table.modes.values())
    lines = [f"{scenario.name} on {framework}: {total} cells fail with skip and pass without, {table.passing} pass with it, "
             f"{table.not_by_skip} fail without it too", "",
             "| candidate | " + " | ".join(f"{mode} ({count} cells)" for mode, count in table.modes.items())
             + " | bytes a call | time a call |", "| --- |" + " --- |" * (len(table.modes) + 2)]
    for candidate in CANDIDATES:
        effects = [_effects_text(table.effects[candidate.name, mode]) for mode in table.modes]
        cost = costs.get(candidate.patch)
        money = (f"{cost['bytes'] - costs['None']['bytes']:+,}", f"{1e3 * cost['seconds']:.0f} ms") if cost else ("", "")
        lines.append(f"| {candidate.name} | {' | '.join(effects)} | {money[0]} | {money[1]} |")
    lines += ["", *(f"{candidate.name}: {candidate.what}" for candidate in CANDIDATES)]
    if costs:
        lines += ["", f"as released: {1e3 * costs['None']['seconds']:.0f} ms a call (forward and backward, no communication)"]
    return "\n".join(lines)
