"""Runs cells on the framework, compares each with the engine's row, remembers what differs."""
import threading
from dataclasses import dataclass, field

from cells import key
from compare import difference
from progress import Progress
from results import Record
from workers import UNRESOLVED, run_cells


@dataclass
class Difference:
    cell: dict
    text: str
    detail: str  # the framework's own words, if it raised


@dataclass
class Checked:
    rows: list         # the framework's, in the order of the cells
    differences: list  # Difference
    # Cells whose result was another in fresh processes: the fresh one counts.
    unsteady: list = field(default_factory=list)
    from_record: int = 0


def run_framework(target, cells, jobs, record_path, engine_rows=None):
    """Rows of the framework. Where the engine's are given a row that differs is run again in fresh processes before it
    counts. Rows that stand in the record are taken from there."""
    checked = Checked(rows=[], differences=[])
    lock = threading.Lock()
    details = {}
    with Record(record_path, target.framework) as record:
        todo = [i for i, cell in enumerate(cells) if key(cell) not in record.rows]
        checked.from_record = len(cells) - len(todo)
        bar = Progress(f"cells on {target.framework}", len(todo))

        def take(place, run):
            index = todo[place]
            row = run(fresh=False)
            again = row["outcome"] == UNRESOLVED or (engine_rows and difference(engine_rows[index], row))
            first, row = row, run(fresh=True) if again else row
            with lock:
                if again and difference(first, row):
                    checked.unsteady.append(cells[index])
                details[index] = row["detail"]
                if row["outcome"] == UNRESOLVED:  # not for the file: the next run tries again
                    record.rows[key(cells[index])] = row
                else:
                    record.add(cells[index], row)
                bar.update(len(details))

        try:
            run_cells(target, [cells[i] for i in todo], jobs, take)
        finally:
            bar.clear()
    checked.rows = [record.rows[key(cell)] for cell in cells]
    for i, cell in enumerate(cells):
        if engine_rows and (text := difference(engine_rows[i], checked.rows[i])):
            checked.differences.append(Difference(cell, text, details.get(i, "")))
    return checked
