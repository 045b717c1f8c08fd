"""Random cells over the whole flag space, with enough of every outcome and kind."""
import math
import random

from cells import AXES, CHOICE, IDENTITIES, OVERLAP_IDENTITIES, key

# A class (outcome and kind) is topped up to this share of the sample: above the 3 % that is asked for, because the
# classes are those that the engine predicts.
TOP_UP_SHARE = 0.035
# Cells are drawn in batches as large as the sample, but at least this: a small sample too shall meet every class.
LEAST_BATCH = 2000
# So many cells are drawn at most for each one of the sample in search of rare classes.
MOST_DRAWS_A_CELL = 40

# Every value of 1 to 8 occurs; many ranks are rarer, because each one is a process.
RANK_WEIGHTS = {1: 14, 2: 34, 3: 14, 4: 16, 5: 6, 6: 6, 7: 5, 8: 5}
LOSS_SCALES = (1.0, 1.0, 1.0, 0.5, 3.0, 1024.0, 32768.0)
MOST_HIDDEN = 24
MOST_BLOCKS = 16


def _weighted(rng, weights):
    return rng.choices(list(weights), list(weights.values()))[0]


def draw(rng, identities=IDENTITIES):
    """One cell that can be run, with one of these identities. Axes are independent but where a combination is
    impossible."""
    cell = {axis.name: rng.choice(identities if axis.name == "identity" else axis.values)
            for axis in AXES if axis.form == CHOICE}
    tp, pp = _weighted(rng, RANK_WEIGHTS), _weighted(rng, RANK_WEIGHTS)
    if tp == 1:
        cell["path"], cell["identity"] = "identity", "copy"
    elif cell["path"] == "overlap":
        cell["identity"] = rng.choice(OVERLAP_IDENTITIES)
    else:
        cell["identity"] = rng.choice(identities)
    widths = [width for width in range(4, MOST_HIDDEN + 1) if width % tp == 0]
    return cell | {
        "tp": tp,
        "pp": pp,
        "acc": rng.randint(1, 6),
        "fan_out": rng.randint(1, 4),
        "residual": rng.randint(0, 1),
        "embed": rng.randint(0, 1),
        "release": rng.randint(0, 1) if pp > 1 else 0,
        "blocks": pp * rng.randint(1, max(1, min(3, MOST_BLOCKS // pp))),
        "hidden": rng.choice(widths),
        "tokens": rng.randint(1, 9),
        "loss_scale": rng.choice(LOSS_SCALES),
    }


def stratified(scenario, count, seed, classify, identities=IDENTITIES):
    """`count` different cells of a scenario with these identities, the same for the same seed and classes. `classify` gives
    a list of cells' classes.
    Cells are drawn until each class that was met has its share, or the limit is reached; the rest of the sample is as
    drawn."""
    rng = random.Random(seed)
    seen, by_class, in_order = set(), {}, []
    wanted = math.ceil(TOP_UP_SHARE * count)
    drawn = 0
    while drawn < MOST_DRAWS_A_CELL * count:
        batch = []
        for _ in range(max(count, LEAST_BATCH)):
            cell = scenario.with_own_axes(draw(rng, identities))
            drawn += 1
            if key(cell) not in seen and not scenario.why_impossible(cell):
                seen.add(key(cell))
                batch.append(cell)
        for cell, its_class in zip(batch, classify(batch)):
            by_class.setdefault(its_class, []).append(cell)
            in_order.append(cell)
        if len(in_order) >= count and all(len(cells) >= wanted for cells in by_class.values()):
            break
    chosen = {}
    for its_class in sorted(by_class):
        for cell in by_class[its_class][:wanted]:
            chosen[key(cell)] = cell
    for cell in in_order:
        if len(chosen) >= count:
            break
        chosen.setdefault(key(cell), cell)
    cells = list(chosen.values())[:count]
    rng.shuffle(cells)
    return cells
