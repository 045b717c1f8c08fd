"""Processes that run cells on the framework (framework/worker.py): started once, given cell after cell."""
import json
import os
import queue
import select
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

from cells import SetupError

START_SECONDS = 300  # importing a framework on a busy machine
# One cell. The worker itself gives up on ranks that have been silent for 20 s.
CELL_SECONDS = 600
UNRESOLVED = "UNRESOLVED"  # the outcome of a cell whose worker gave no answer: agrees with nothing


@dataclass(frozen=True)
class Target:
    """What cells run on."""

    python: str     # an interpreter that has the framework
    framework: str  # "paddle@3.3.1"
    blocks: str     # module of framework/ (scenarios.py)


class _Silent(Exception):
    """No answer: the process died or passed the deadline."""


class _Worker:
    def __init__(self, target):
        python, framework = target.python, target.framework
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "framework", "worker.py")
        command = [python, script, f"{framework.split('@')[0]}_rank", target.blocks]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise SetupError(f"{python} can't be started: {error}") from None
        self._buffer = b""
        self._errors = []
        threading.Thread(target=self._keep_errors, daemon=True).start()
        try:
            got = self._line(START_SECONDS)["ready"]
        except _Silent as silent:
            self.stop()
            raise SetupError(f"{framework} can't be run with {python}: {silent}") from None
        if got != framework:
            self.stop()
            raise SetupError(f"{python} has {got}, asked for was {framework}; give another interpreter with --python")

    def _keep_errors(self):
        for line in self._process.stderr:
            self._errors = (self._errors + [line.decode(errors="replace").rstrip()])[-20:]

    def run(self, cell, fresh):
        """Errors: _Silent."""
        try:
            self._process.stdin.write(json.dumps({"id": 0, "cell": cell, "fresh": fresh}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it died: there is nothing to read either
        return self._line(CELL_SECONDS)["result"]

    def _line(self, seconds):
        end = time.monotonic() + seconds
        out = self._process.stdout
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([out], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise _Silent(f"no answer in {seconds} s")
            read = os.read(out.fileno(), 1 << 16)
            if not read:
                self._process.wait()
                time.sleep(0.1)  # its last words
                raise _Silent("; ".join(self._errors[-3:]) or f"it ended with status {self._process.returncode}")
            self._buffer += read
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    def stop(self):
        """Ranks die with it (they ask the kernel for that)."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()


def run_cells(target, cells, jobs, take):
    """Runs each cell on `jobs` worker processes. take(index, run) is called in a worker's thread for each; run(fresh)
    gives the cell's row. A worker that dies is replaced, and the cell's row says so (UNRESOLVED). Errors:
    SetupError; what `take` raises."""
    todo = queue.SimpleQueue()
    for index in range(len(cells)):
        todo.put(index)
    stop, broken = threading.Event(), []
    workers = []

    def work():
        worker = None
        try:
            while not stop.is_set():
                try:
                    index = todo.get_nowait()
                except queue.Empty:
                    return
                if worker is None:
                    worker = _Worker(target)
                    workers.append(worker)

                def run(fresh):
                    nonlocal worker
                    try:
                        if worker is None:
                            worker = _Worker(target)
                            workers.append(worker)
                        return worker.run(cells[index], fresh)
                    except _Silent as silent:
                        if stop.is_set():
                            raise  # it was stopped
                        worker.stop()
                        worker = None
                        return dict.fromkeys(("kind", "where", "loss", "worst", "checksum", "freed"), "") | {
                            "outcome": UNRESOLVED, "detail": str(silent)}

                take(index, run)
        except BaseException as error:
            broken.append(error)
            stop.set()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(jobs, len(cells)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # with a timeout: so Ctrl-C is heard
    finally:
        stop.set()
        for worker in workers:
            worker.stop()
    if broken:
        raise broken[0]
