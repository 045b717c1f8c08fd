#!/usr/bin/env bash
# Runs repro_py_paddle_test.py with the interpreter that has that release of the framework; exit status 77 where it
# can't be installed.   repro_py_paddle_test.sh RELEASE CULPRIT_BINARY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$(python3 "$here/../../tools/parity/environment.py" "$1") || exit $?
exec "$python" "$here/repro_py_paddle_test.py" "$2"
