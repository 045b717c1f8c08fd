#!/usr/bin/env python3
"""culprit isolate --command on a program of PaddlePaddle's layers, against brute force.

usage: isolate_paddle_test.py CULPRIT_BINARY        (with a Python that has paddle)

The search may run at most 96 of the 192 assignments as processes. What it reports must be what the definition in
docs/isolation.md gives for the table of all 192, which is made by forking this process; and every run that a certificate
names must have come out in the table as the certificate says.
"""
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "tiny_trainer.py")
RTOL, ATOL = 1e-4, 1e-6  # those of culprit isolate

# Switch: the values' texts, the reporter's first, off last.
SWITCHES = {
    "recompute": ["--recompute reentrant", "--recompute nonreentrant", "--recompute none"],
    "inplace": ["--inplace", ""],
    "clone": ["--clone", ""],
    "frozen": ["--frozen", ""],
    "split": ["--split 2", ""],
    "retain": ["--retain", ""],
}
VARIABLE, VARIABLE_VALUES = "FLAGS_check_nan_inf", ["1", ""]
SPACE = {**SWITCHES, VARIABLE: VARIABLE_VALUES}
NAMES = list(SPACE)


def shown(name, value):
    """How reports name a value."""
    return value or ("unset" if name == VARIABLE else "off")


def run_forked(assignment, folder):
    """One run of the program in a child: ("exit", first line of the error), or ("grads", gradients)."""
    import paddle
    import tiny_trainer

    path = os.path.join(folder, "grads.json")
    errors = os.path.join(folder, "errors.txt")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            paddle.set_flags({VARIABLE: bool(assignment[VARIABLE])})
            flags = " ".join(assignment[name] for name in SWITCHES).split()
            tiny_trainer.main(flags + ["--grads", path])
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        with open(errors) as file:
            raised = [line.strip() for line in file if re.match(r"\w+(Error|Exception): ", line)]
        return ("exit", f"{status}:{raised[0] if raised else ''}")
    with open(path) as file:
        return ("grads", json.load(file))


def flat(value):
    return [x for item in value for x in flat(item)] if isinstance(value, list) else [value]


def fingerprint(result, reference):
    """As docs/commands.md says: None for a passing run."""
    kind, what = result
    if kind == "exit":
        return f"EXIT:{what}"
    for name, wanted in reference.items():
        if name not in what:
            return f"DUMP:missing:{name}"
        wanted, got = flat(wanted), flat(what[name])
        bound = ATOL + RTOL * max(map(abs, wanted))
        if len(wanted) != len(got):
            return f"DUMP:shape:{name}"
        if any(not abs(a - b) <= bound for a, b in zip(got, wanted)):
            return f"DUMP:differs:{name}"
    return None


def minimal_combinations(table):
    """The definition, literally: {fingerprint: [set of (switch, value)]}."""
    runs = [(frozenset(run), found) for run, found in table.items()]
    partials = [
        frozenset((name, value) for name, value in zip(NAMES, values) if value is not None)
        for values in itertools.product(*([None] + SPACE[name] for name in NAMES))
    ]
    partials.sort(key=len)
    containing = {part: [(run, found) for run, found in runs if part <= run] for part in partials}
    off = {name: values[-1] for name, values in SPACE.items()}
    prints = {found for _, found in runs if found}

    def minimal(sets):
        return [each for each in sets if not any(other < each for other in sets)]

    literal = {
        f: minimal([part for part in partials if all(found == f for _, found in containing[part])]) for f in prints
    }
    known = dict(literal)
    while True:  # masks: a combination may show less where another one fails first
        found_now = {}
        for f in prints:
            sets = []
            for part in partials:
                alone = frozenset({**off, **dict(part)}.items())
                if table[alone] != f or not any(part <= whole for whole in literal[f]):
                    continue
                if all(
                    found == f
                    or (found and any(mask <= run and not mask <= part for mask in known[found]))
                    for run, found in containing[part]
                ):
                    sets.append(part)
            found_now[f] = minimal(sets)
        if found_now == known:
            return known
        known = found_now


def main():
    culprit = os.path.abspath(sys.argv[1])
    import paddle

    sys.path.insert(0, HERE)
    print(f"PaddlePaddle {paddle.__version__}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        reference = run_forked({name: values[-1] for name, values in SPACE.items()}, folder)
        assert reference[0] == "grads", reference
        table = {}
        for values in itertools.product(*SPACE.values()):
            assignment = dict(zip(NAMES, values))
            table[frozenset(assignment.items())] = fingerprint(run_forked(assignment, folder), reference[1])
        wanted = minimal_combinations(table)
        failing = sum(1 for found in table.values() if found)
        print(f"brute force: {len(table)} runs, {failing} fail, {sum(map(len, wanted.values()))} minimal combinations")
        assert any(len(part) >= 2 for parts in wanted.values() for part in parts)

        out, report_path = os.path.join(folder, "out"), os.path.join(folder, "report.json")
        command = [culprit, "isolate", "--command", f"{sys.executable} {PROGRAM} {{toggles}} --grads {{dump.json}}"]
        for name, values in SWITCHES.items():
            command += ["--toggle", f"{name}={'|'.join(values)}"]
        command += ["--env-toggle", f"{VARIABLE}={'|'.join(VARIABLE_VALUES)}", "--exhaustive-limit", "1"]
        command += ["--max-trials", "96", "--jobs", str(os.cpu_count() or 1), "--out", out, "--json", report_path]
        done = subprocess.run(command, capture_output=True, text=True)
        print(done.stdout, done.stderr, sep="", flush=True)
        assert done.returncode == 1, f"exit status {done.returncode}, expected 1"
        with open(report_path) as file:
            report = json.load(file)

    got = {
        (each["fingerprint"], frozenset(each["switches"].items())) for each in report["minimal_combinations"]
    }
    expected = {
        (f, frozenset((name, shown(name, value)) for name, value in part)) for f, parts in wanted.items() for part in parts
    }
    assert got == expected, f"reported but not so: {got - expected}; missed: {expected - got}"

    outcome = {
        frozenset((name, shown(name, value)) for name, value in run): found for run, found in table.items()
    }
    num_checked = 0
    for each in report["minimal_combinations"]:
        own = set(each["switches"].items())
        assert each["certificate"]["proven"], each
        assert {pair["switch"] for pair in each["certificate"]["necessity"]} == set(each["switches"]), each
        for pair in each["certificate"]["necessity"]:
            kept, gone = pair["with"]["switches"], pair["without"]["switches"]
            assert own <= set(kept.items()), pair
            assert [name for name in kept if kept[name] != gone[name]] == [pair["switch"]], pair
            assert outcome[frozenset(kept.items())] == each["fingerprint"], pair
            assert outcome[frozenset(gone.items())] != each["fingerprint"], pair
            num_checked += 2
        assert each["certificate"]["support"], each
        for seen in each["certificate"]["support"]:
            assert own <= set(seen["switches"].items()), seen
            assert outcome[frozenset(seen["switches"].items())] is not None, seen
            num_checked += 1
    print(f"passed: {len(got)} combinations in {report['trials']} trials, {num_checked} runs of certificates checked")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
