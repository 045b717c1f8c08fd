#!/usr/bin/env bash
# The tests on a program that is not ours: 200 random cells on each release of PaddlePaddle beside the engine, what runs
# them there, and the isolation of failures of PaddlePaddle's own layers through --command.
# Gets the CPU wheels from PyPI into build/parity/; where they can't be had, says SKIPPED and exits with 77.
#   tests/run_paddle.sh                  installs PaddlePaddle
#   tests/run_paddle.sh --python PYTHON  uses a Python that has the newest release, and tests that one only
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
newest=paddle@3.3.1
others=(paddle@2.6.2)
python=

while [ "$#" -gt 0 ]; do
  case "$1" in
    --python) [ "$#" -ge 2 ] || { printf 'tests/run_paddle.sh: --python needs a value\n' >&2; exit 2; }
              python=$2; others=(); shift 2 ;;
    *) printf 'tests/run_paddle.sh: unknown flag %s; did you mean --python?\n' "$1" >&2; exit 2 ;;
  esac
done

mkdir -p build
if [ -n "$python" ]; then
  "$python" -c 'import paddle' 2>/dev/null || { printf 'tests/run_paddle.sh: %s has no paddle\n' "$python" >&2; exit 2; }
else
  python=$(python3 tools/parity/environment.py "$newest") && "$python" -c 'import paddle' 2>build/paddle.log || {
    printf 'SKIPPED: the tests on PaddlePaddle did not run: it is not here (reason above, or in build/paddle.log)\n' >&2
    exit 77
  }
fi

printf '== building culprit\n'
{ cmake --preset release && cmake --build --preset release --target culprit -j "$(nproc)"; } >build/paddle.log 2>&1 ||
  { tail -n 40 build/paddle.log; printf 'tests/run_paddle.sh: the build failed\n' >&2; exit 1; }
culprit=build/release/bin/culprit

status=0
printf '== tools/parity on the framework\n'
"$python" -m unittest discover --start-directory tests/parity/framework --top-level-directory tests/parity/framework ||
  status=1
printf '== random cells\n'
python3 tools/parity --framework "$newest" --python "$newest=$python" --sample 200 --seed 200 --culprit "$culprit" ||
  status=1
for framework in "${others[@]}"; do
  python3 tools/parity --framework "$framework" --sample 200 --seed 201 --culprit "$culprit" || status=1
done
printf '== isolation\n'
"$python" tests/paddle/isolate_paddle_test.py "$culprit" || status=1
exit "$status"
