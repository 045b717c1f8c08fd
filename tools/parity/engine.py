"""This project's engine on many cells: `culprit cells`."""
import csv
import os
import subprocess
import tempfile

from cells import SetupError
from results import write_cells

BATCH = 4000
SECONDS_A_BATCH = 900  # a deadline, far above what a batch takes on a busy machine


def run_engine(culprit, scenario, cells, framework, jobs, on_done=lambda done: None):
    """The engine's rows of a scenario's model, in the order of `cells`. Errors: SetupError with what the program said."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="culprit-parity-") as folder:
        source, target = os.path.join(folder, "in.csv"), os.path.join(folder, "out.csv")
        for start in range(0, len(cells), BATCH):
            batch = cells[start : start + BATCH]
            write_cells(source, batch)
            command = [culprit, "cells", source, "--out", target, "--scenario", scenario, "--framework", framework,
                       "--jobs", str(jobs)]
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                      timeout=SECONDS_A_BATCH, check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise SetupError(f"{culprit} can't be run: {error}") from None
            if done.returncode != 0:
                raise SetupError(f"culprit cells gave exit status {done.returncode}: {done.stderr.strip()}")
            with open(target, newline="", encoding="utf-8") as file:
                rows += csv.DictReader(file)
            on_done(len(rows))
    return rows
