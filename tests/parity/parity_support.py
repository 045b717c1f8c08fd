"""Where the tool lies, and rows and cells to test with."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "parity")
RECORDED = os.path.join(ROOT, "tests", "data", "paddle_3.3.1_cells.csv")
sys.path.insert(0, TOOL)

from cells import with_defaults  # noqa: E402


def cell(**given):
    return with_defaults(given)


def row(**given):
    """A passing row of a cell with one parameter."""
    return {"outcome": "PASS", "kind": "", "where": "", "loss": "0.5", "worst": "1e-07", "checksum": "embed@0.0=2",
            "freed": "0", "ties": "", "rounding": "1e-07", "detail": ""} | given
