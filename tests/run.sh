#!/usr/bin/env bash
# Runs all tests: the release build with everything, then the engine and its neighbours under AddressSanitizer +
# UBSan, then the ranks' threads (engine, communicator, recorded cells) and processes under ThreadSanitizer. On Debian
# what is missing is installed with apt-get where that is allowed.
#   tests/run.sh             all of it
#   tests/run.sh --quick     the release build only
set -euo pipefail
root=$(CDPATH= cd -- "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." >/dev/null && pwd)
cd "$root"
quick=
case "${1-}" in
  "") ;;
  --quick) quick=1 ;;
  *) printf 'tests/run.sh: unknown flag %s; did you mean --quick?\n' "$1" >&2; exit 2 ;;
esac

# shellcheck source=cmake/debian_packages.sh
. cmake/debian_packages.sh
ensure_packages tests/run.sh build/install.log \
  g++ cmake ninja-build git libopenblas-dev libfmt-dev libcli11-dev nlohmann-json3-dev libgtest-dev libopenmpi-dev openmpi-bin python3 python3-jsonschema

jobs=$(nproc)
failed=()
# preset, ctest arguments: builds quietly (the log on a failure) and tests. With CI=true only tests labelled gpu
# may skip; CTest itself counts a skipped test as passed.
run_preset() {
  local preset=$1 log=build/$1.log results=build/$1.ctest.log status
  shift
  mkdir -p build
  printf '== %s: building\n' "$preset"
  if ! { cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs"; } >"$log" 2>&1; then
    tail -n 60 "$log"
    printf 'tests/run.sh: the %s build failed\n' "$preset" >&2
    exit 1
  fi
  printf '== %s: testing\n' "$preset"
  set +e
  ctest --preset "$preset" -j "$jobs" "$@" 2>&1 | tee "$results" | grep -vE '^ +Start |Passed +[0-9.]+ sec$'
  status=${PIPESTATUS[0]}
  set -e
  if [ "${CI-}" = true ] && grep -E '\*\*\*Skipped' "$results" | grep -vE ': gpu\.'; then
    printf 'tests/run.sh: the tests above were skipped; only GPU tests may be\n' >&2
    status=1
  fi
  [ "$status" = 0 ] || failed+=("$preset")
}

run_preset release
if [ -z "$quick" ]; then
  # Sanitizers look at the engine and its neighbours; text handling and programs are for the release build.
  run_preset asan -L 'unit|contract|repro|matrix'
  run_preset tsan -L 'unit|contract|repro|matrix'
fi
if [ "${#failed[@]}" -gt 0 ]; then
  printf 'tests/run.sh: failed: %s\n' "${failed[*]}" >&2
  exit 1
fi
