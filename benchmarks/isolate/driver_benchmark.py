#!/usr/bin/env python3
"""What `culprit isolate` adds to each trial, and how long a journal of 10,000 trials takes to load.

usage: driver_benchmark.py BIN_FOLDER [FOLDER]     FOLDER: where the journals are written (default: a temporary one)
"""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SWITCHES = [word for i in range(40) for word in ("--toggle", f"s{i}=--s{i}|")]


def run(words):
    """Wall and processor seconds, those of its trials included."""
    start = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def spread(values, unit, factor=1.0):
    values = [value * factor for value in values]
    return f"{statistics.median(values):.3f} {unit}, {min(values):.3f} to {max(values):.3f}"


def fsync_seconds(folder):
    file = os.open(os.path.join(folder, "fsync"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    start = time.perf_counter()
    for _ in range(100):
        os.write(file, b"x" * 200)
        os.fdatasync(file)
    os.close(file)
    return (time.perf_counter() - start) / 100


def overhead(command, folder):
    out = os.path.join(folder, "overhead")
    rest = []
    for _ in range(7):
        shutil.rmtree(out, ignore_errors=True)
        wall, _ = run([*command, "--flaky", "--out", out])
        with open(out + "/report.json", encoding="utf-8") as file:
            trials = json.load(file)["trials"]
        with open(out + "/journal.jsonl", encoding="utf-8") as file:
            inside = sum(json.loads(line).get("seconds", 0) for line in file)
        rest.append((wall - inside) / trials)
    print(f"outside the trials' processes, a trial ({trials} trials): {spread(rest, 'ms', 1e3)}")
    print(f"two fsyncs here: {2e3 * fsync_seconds(folder):.3f} ms")


def resume(command, folder):
    out = os.path.join(folder, "resume")
    command = [*command, "--max-trials", "1", "--out", out]
    run(command)
    chance = random.Random(1)
    with open(out + "/journal.jsonl", "a", encoding="utf-8") as file:
        for i in range(1, 10_000):
            head = {"assignment": [chance.randint(0, 1) for _ in range(40)]}
            done = {"status": "fail", "fingerprint": "EXIT:1:ValueError: something went wrong", "seconds": 0.25,
                    "note": "exit status 1: ValueError: something went wrong"}
            for line in ({"start": i, **head}, {"done": i, **head, **done}):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
    times = [run([*command, "--resume"]) for _ in range(9)]
    size = os.path.getsize(out + "/journal.jsonl") // 1024
    print(f"resume of 10,000 trials ({size} KiB), search and report included: wall "
          f"{spread([wall for wall, _ in times], 's')}; processor {spread([cpu for _, cpu in times], 's')}")


def main():
    command = [os.path.join(sys.argv[1], "culprit"), "isolate", "--command", "true {toggles}", *SWITCHES]
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        overhead(command, folder)
        resume(command, folder)


main()
