#!/usr/bin/env bash
# Runs isolate_paddle_test.py with the interpreter that has the released framework; exit status 77 where it can't be
# installed.   isolate_paddle_test.sh CULPRIT_BINARY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$(python3 "$here/../../tools/parity/environment.py" paddle@3.3.1) || exit $?
exec "$python" "$here/isolate_paddle_test.py" "$1"
