#!/usr/bin/env bash
# Runs what needs the released framework: 200 random cells on each release, the tests of tools/parity's framework side,
# the isolation of failures of the framework's own layers, and the emitted repro.py. The releases are installed from PyPI into build/parity/ at the first use (about 1.5 GB); no GPU is needed.
# Where that is impossible the tests are reported as skipped and the exit status is 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ $# -gt 0 ]; then
  printf 'tests/run_paddle.sh: takes no arguments, got %s\n' "$1" >&2
  exit 2
fi
build=build/paddle
mkdir -p build
if ! { cmake --preset release -B "$build" -DCULPRIT_PADDLE_TESTS=ON && cmake --build "$build" --target culprit_programs; } \
  >build/paddle.log 2>&1; then
  tail -n 40 build/paddle.log
  printf 'tests/run_paddle.sh: the build failed\n' >&2
  exit 3
fi
status=0
ctest --test-dir "$build" -L '^paddle$' --output-on-failure 2>&1 | tee build/paddle.ctest.log || status=$?
if [ "$status" = 0 ] && grep -q '\*\*\*Skipped' build/paddle.ctest.log; then
  printf 'tests/run_paddle.sh: SKIPPED: the framework can not be installed here (reason: python3 tools/parity/environment.py paddle@3.3.1)\n' >&2
  exit 77
fi
exit "$status"
