#!/usr/bin/env python3
"""Stands in for `culprit`: every cell passes."""
import csv
import sys

if sys.argv[1] == "--version":
    print("culprit stand-in")
else:
    assert sys.argv[1] == "cells" and sys.argv[3] == "--out", sys.argv
    with open(sys.argv[2], newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    result = {"outcome": "PASS", "kind": "", "where": "", "loss": "0.5", "worst": "1e-07", "checksum": "embed@0.0=2",
              "freed": "0"}
    if "paddle@2.6.2" in sys.argv:  # an older release refuses what a newer one runs
        rows = [row | result | ({"outcome": "ERROR", "kind": "SAVE_NONE"} if row["fan_out"] == "3" else {}) for row in rows]
    else:
        rows = [row | result for row in rows]
    with open(sys.argv[4], "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
