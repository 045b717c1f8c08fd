#!/usr/bin/env bash
# The end-to-end test on a program that is not ours: isolates failures of PaddlePaddle's own layers through --command.
# Gets the CPU wheel from PyPI into build/; where it can't be had, says SKIPPED and exits with 77.
#   tests/run_paddle.sh                  installs PaddlePaddle into build/paddle-VERSION
#   tests/run_paddle.sh --python PYTHON  uses a Python that has it
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
version=3.3.1
python=

while [ "$#" -gt 0 ]; do
  case "$1" in
    --python) [ "$#" -ge 2 ] || { printf 'tests/run_paddle.sh: --python needs a value\n' >&2; exit 2; }
              python=$2; shift 2 ;;
    *) printf 'tests/run_paddle.sh: unknown flag %s; did you mean --python?\n' "$1" >&2; exit 2 ;;
  esac
done

skip() {
  printf 'SKIPPED: the test on PaddlePaddle did not run: %s\n' "$1" >&2
  exit 77
}

if [ -n "$python" ]; then
  "$python" -c 'import paddle' 2>/dev/null || { printf 'tests/run_paddle.sh: %s has no paddle\n' "$python" >&2; exit 2; }
else
  folder=build/paddle-$version
  python=$root/$folder/bin/python
  if ! "$python" -c 'import paddle' 2>/dev/null; then
    log=build/paddle.log
    mkdir -p build
    rm -rf "$folder"
    printf '== installing paddlepaddle %s into %s\n' "$version" "$folder"
    python3 -m venv "$folder" >"$log" 2>&1 || skip "python3 -m venv failed (Debian: python3-venv): $(tail -n 1 "$log")"
    "$python" -m pip install -q "paddlepaddle==$version" >"$log" 2>&1 ||
      skip "the wheel can't be had: $(tail -n 1 "$log")"
    "$python" -c 'import paddle' >"$log" 2>&1 || skip "the wheel does not run here: $(tail -n 1 "$log")"
  fi
fi

printf '== building culprit\n'
mkdir -p build
{ cmake --preset release && cmake --build --preset release --target culprit -j "$(nproc)"; } >build/paddle.log 2>&1 ||
  { tail -n 40 build/paddle.log; printf 'tests/run_paddle.sh: the build failed\n' >&2; exit 1; }
exec "$python" tests/paddle/isolate_paddle_test.py build/release/bin/culprit
