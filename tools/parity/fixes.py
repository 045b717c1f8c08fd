"""Candidate fixes of the skipped identity, tried on the framework itself at every cell that fails because of it."""
import json
import os
import subprocess
import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass

from cells import NAMES, SetupError, why_impossible
from progress import Progress
from workers import run_cells

COST_SECONDS = 600
SILENT = ("WRONG_LOSS", "MISSING_GRAD", "WRONG_GRAD")

OTHER_RECOMPUTE = {"reentrant": "nonreentrant", "nonreentrant": "reentrant"}


@dataclass(frozen=True)
class Candidate:
    name: str
    what: str
    patch: str = ""             # of framework/paddle_patches.py
    change: object = None       # or what a user would change: cell -> cell, None where it does not apply


def _with(**settings):
    return lambda cell: cell | settings


def _other_recompute(cell):
    return cell | {"recompute": OTHER_RECOMPUTE[cell["recompute"]]} if cell["recompute"] in OTHER_RECOMPUTE else None


CANDIDATES = (
    Candidate("view", "the identity returns a view: a new handle on the same memory", patch="view"),
    Candidate("copy", "the identity copies: skip has no effect", patch="copy"),
    Candidate("detach", "the identity returns a detached object", patch="detach"),
    Candidate("reshape", "the identity reshapes to the tensor's own shape", patch="reshape"),
    Candidate("mark_not_inplace", "the identity marks its output as not in-place", patch="mark_not_inplace"),
    Candidate("scale in the layer", "the layer multiplies its input by 1 before the identity", patch="scale_in_layer"),
    Candidate("new handle in PyLayer", "PyLayer gives a view wherever forward returns its input; all-reduce included",
              patch="new_handle_in_pylayer"),
    Candidate("operator before", "user: any operator between the block's input and its linears",
              change=_with(first_op="scale")),
    Candidate("overlap path", "user: asynchronous all-reduce, hence the overlapping linear", change=_with(path="overlap")),
    Candidate("other recompute", "user: the other kind of recomputation", change=_other_recompute),
)


def mode_of(cell, row):
    """Which way of failing: those that docs/case_59290.md tells apart."""
    if row["outcome"] == "ERROR":
        return f"{row['kind']} in {row['where'].split(':')[1].split()[0]}"
    if row["outcome"] == "WRONG_GRAD" and cell["fan_out"] > 1 and cell["recompute"] == "nonreentrant":
        return "WRONG_GRAD, several linears on one input"
    return row["outcome"] + (", input used again" if cell["residual"] else "")


def effect(before, after):
    """What a candidate did to a cell: the words of docs/schemas.md."""
    if after["outcome"] == "PASS":
        return "clears"
    if all(after[name] == before[name] for name in ("outcome", "kind", "where", "checksum")):
        return "no effect"
    if after["outcome"] in SILENT:
        return "still wrong" if before["outcome"] in SILENT else "turns silent"
    return "fails differently"


@dataclass
class FixTable:
    modes: OrderedDict      # mode -> number of failing cells, the most frequent first
    effects: dict           # (candidate name, mode) -> Counter of effects
    not_by_skip: int        # cells that fail with skip and fail the same way without
    passing: int            # cells that pass with skip


def _run_all(target, cells, jobs):
    rows = [None] * len(cells)
    bar, lock, done = Progress(f"cells on {target.framework}", len(cells)), threading.Lock(), Counter()

    def take(index, run):
        rows[index] = run(fresh=False)
        with lock:
            done["cells"] += 1
            bar.update(done["cells"])

    try:
        run_cells(target, cells, jobs, take)
    finally:
        bar.clear()
    return rows


def try_fixes(scenario, target, cells, jobs):
    """Tries all candidates at those of the cells that fail with identity=skip and don't with identity=copy."""
    skipping = [cell | {"identity": "skip"} for cell in cells if cell["tp"] > 1 and cell["path"] == "identity"]
    skipping = list({tuple(cell.items()): cell for cell in skipping}.values())
    plain = [cell | {"identity": "copy"} for cell in skipping]
    rows = _run_all(target, skipping + plain, jobs)
    with_skip, without = rows[: len(skipping)], rows[len(skipping) :]
    failing = [(cell, row) for cell, row, other in zip(skipping, with_skip, without)
               if row["outcome"] != "PASS" and other["outcome"] == "PASS"]
    trials = []
    for candidate in CANDIDATES:
        for cell, before in failing:
            changed = candidate.change(cell) if candidate.change else cell | {"patch": candidate.patch}
            applies = changed is not None and changed != cell and not (
                why_impossible(changed) or scenario.why_impossible({name: changed[name] for name in NAMES}))
            trials.append((candidate, cell, before, changed if applies else None))
    after = iter(_run_all(target, [changed for *_, changed in trials if changed], jobs))
    effects = {}
    for candidate, cell, before, changed in trials:
        its_effect = effect(before, next(after)) if changed else "not applicable"
        effects.setdefault((candidate.name, mode_of(cell, before)), Counter())[its_effect] += 1
    modes = OrderedDict(Counter(mode_of(cell, row) for cell, row in failing).most_common())
    passing = sum(row["outcome"] == "PASS" for row in with_skip)
    return FixTable(modes, effects, len(skipping) - passing - len(failing), passing)


def measure_costs(target):
    """{patch name or "None": {"bytes", "seconds"}} of one call at a size that is used in earnest."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "framework", f"{target.framework.split('@')[0]}_cost.py")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOG_minloglevel": "3"}
    try:
        done = subprocess.run([target.python, script], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=COST_SECONDS, check=True)
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise SetupError(f"the cost of the candidates can't be measured: {error}") from None
