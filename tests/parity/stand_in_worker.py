#!/usr/bin/env python3
"""Stands in for the interpreter that has the framework: answers as framework/worker.py does. Every cell passes, but as
the environment says: PARITY_DIFFERS=TP cells of that tp have another loss, PARITY_UNSTEADY=TP they have it unless run in
fresh processes, PARITY_DIES=TP the worker dies of them, PARITY_VERSION another release."""
import json
import os
import sys


def is_for(variable, cell):
    return os.environ.get(variable) == str(cell["tp"])


print(json.dumps({"ready": os.environ.get("PARITY_VERSION", "paddle@3.3.1")}), flush=True)
for line in sys.stdin:
    order = json.loads(line)
    cell = order["cell"]
    if is_for("PARITY_DIES", cell):
        sys.exit("the stand-in dies")
    row = {"outcome": "PASS", "kind": "", "where": "", "loss": "0.5", "worst": "1e-07", "checksum": "embed@0.0=2",
           "freed": "0", "ties": "", "rounding": "1e-07", "detail": ""}
    if is_for("PARITY_DIFFERS", cell) or (is_for("PARITY_UNSTEADY", cell) and not order["fresh"]):
        row["loss"] = "0.7"
    with open(os.environ["PARITY_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{cell['tp']} {'fresh' if order['fresh'] else 'kept'}\n")
    print(json.dumps({"id": order["id"], "result": row}), flush=True)
