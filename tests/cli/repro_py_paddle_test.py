#!/usr/bin/env python3
"""The emitted repro.py on the stock framework: today's outcome, and none of it in the clean twin.

usage: PYTHON repro_py_paddle_test.py CULPRIT [NAME...]
PYTHON has PaddlePaddle (paddlepaddle==3.3.1; the cells of 2.6.2 run where it has that); CULPRIT is the program.
"""
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile

# name: arguments of `culprit repro`, exit status of repro.py, what a line begins with, and the edit that makes the
# clean twin of it, if one word does.
SKIP_OFF = ("SKIP = True", "SKIP = False")
CELLS = {
    "skip + residual": ("skip_identity_residual --pp=1 --skip-c-identity --residual", 11, "WRONG_GRAD", SKIP_OFF),
    "skip + pp-merge": ("skip_identity_pipeline --pp=2 --skip-c-identity", 10, "ERROR LEAF_INPLACE", SKIP_OFF),
    "skip + recompute": ("skip_identity_recompute --pp=1 --skip-c-identity --recompute", 10, "ERROR LEAF_INPLACE", SKIP_OFF),
    "skip + pp-merge + recompute": ("skip_identity_leaf --pp=2 --skip-c-identity --recompute", 10, "ERROR LEAF_INPLACE", SKIP_OFF),
    "two linears": ("skip_identity_two_linears --pp=1 --skip-c-identity --fan-out=2", 10, "ERROR INPLACE_VERSION", SKIP_OFF),
    "two linears, non-reentrant": (
        "skip_identity_leaf --pp=1 --skip-c-identity --recompute=nonreentrant --fan-out=2", 11, "WRONG_GRAD", SKIP_OFF),
    "two linears + residual": (
        "skip_identity_leaf --pp=1 --skip-c-identity --residual --fan-out=2", 10, "ERROR INPLACE_VERSION", SKIP_OFF),
    "two linears + pp-merge": (
        "skip_identity_leaf --pp=2 --skip-c-identity --fan-out=2", 10, "ERROR LEAF_INPLACE", SKIP_OFF),
    "two linears + recompute": (
        "skip_identity_leaf --pp=1 --skip-c-identity --recompute --fan-out=2", 10, "ERROR LEAF_INPLACE", SKIP_OFF),
    "quantised LoRA": ("skip_identity_qlora --pp=1 --skip-c-identity", 11, "WRONG_GRAD", SKIP_OFF),
    "overlap on data": ("overlap_stopped_input --pp=1 --path=overlap --no-embed", 10, "ERROR GRAD_FOR_STOPPED_INPUT", None),
    "mark_not_inplace": ("not_inplace_drops_grad --pp=1 --identity=mark_not_inplace", 12, "MISSING_GRAD",
                         ("        ctx.mark_not_inplace(x)\n        return x\n", "        return x.view(x.shape)\n")),
    # The CPU build has no error for a released tensor: it dies.
    "released tensor": ("released_tensor_read --release --recompute=nonreentrant --capture=sent", 16, "CRASH SIGSEGV", ("tensor._clear_dataptr()", "pass")),
    "captured, reentrant": ("released_tensor_read --pp=1 --recompute", 10, "ERROR GRAPH_FREED",
                            ("use_reentrant=True", "use_reentrant=False")),
    "detach": ("skip_identity_leaf --pp=1 --identity=detach", 10, "ERROR LEAF_INPLACE",
               ("return x.detach()", "return x.view(x.shape)")),
    "mark_not_inplace + pp-merge": (
        "skip_identity_leaf --pp=2 --identity=mark_not_inplace", 10, "ERROR NO_INPUT_GRAD", None),
    "reentrant on data": ("skip_identity_leaf --pp=1 --no-embed --recompute", 12, "MISSING_GRAD", None),
}
OLD_CELLS = {
    "overlap, non-reentrant": (
        "skip_identity_leaf --pp=1 --path=overlap --recompute=nonreentrant", 10, "ERROR SAVE_NONE", None),
}


def run(program):
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=1800)
    return done.returncode, done.stdout, done.stderr


def check(culprit, framework, arguments, status, words, edit, folder):
    """What is wrong, in words; empty when nothing is."""
    command = [culprit, "repro", *arguments.split(), f"--framework={framework}", "--no-verify", "--out", str(folder)]
    emitted = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if emitted.returncode != 0:
        return f"culprit repro ended with {emitted.returncode}: {emitted.stdout}{emitted.stderr}"
    program = folder / "repro.py"
    if not program.exists():
        return f"there is no repro.py: {emitted.stdout}"
    text = program.read_text()
    if len(text.splitlines()) > 100:
        return f"{len(text.splitlines())} lines"
    got, out, err = run(program)
    if got != status or not any(line.startswith(words) for line in out.splitlines()):
        return f"exit status {got}, expected {status} and {words}:\n{out[-1500:]}{err[-1500:]}"
    if edit is None:
        return ""
    if edit[0] not in text:
        return f"{edit[0]!r} is not in it"
    program.write_text(text.replace(*edit))
    got, out, err = run(program)
    return "" if got == 0 else f"clean twin: exit status {got}, expected 0:\n{out[-1500:]}{err[-1500:]}"


def main():
    culprit, *wanted = sys.argv[1:]
    version = importlib.metadata.version("paddlepaddle")
    cells = dict(CELLS, **(OLD_CELLS if version == "2.6.2" else {}))
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        for number, (name, (arguments, status, words, edit)) in enumerate(cells.items()):
            if wanted and name not in wanted:
                continue
            wrong = check(os.path.abspath(culprit), f"paddle@{version}", arguments, status, words, edit,
                          pathlib.Path(work) / str(number))
            print(f"FAILED {name}: {wrong}" if wrong else f"ok {name}", flush=True)
            failures += bool(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
