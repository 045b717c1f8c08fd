#!/usr/bin/env bash
# Runs the tests of this folder with the interpreter that has FRAMEWORK: they need numpy.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$(python3 "$here/../../../tools/parity/environment.py" "$1")
exec "$python" -m unittest discover --start-directory "$here" --top-level-directory "$here"
