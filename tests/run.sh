#!/usr/bin/env bash
# Builds and runs all tests: the release build, then AddressSanitizer + UBSan, then ThreadSanitizer.
#   tests/run.sh           all three
#   tests/run.sh --quick   the release build only
# On a fresh Debian machine it installs what is missing first (and says so). With CI=true only tests that need
# a GPU may skip.
set -euo pipefail
cd "$(dirname "$0")/.."

quick=0
case "${1:-}" in
  "") ;;
  --quick) quick=1 ;;
  *) echo "usage: tests/run.sh [--quick]" >&2; exit 2 ;;
esac

packages=(g++ cmake ninja-build git libopenblas-dev libfmt-dev libcli11-dev nlohmann-json3-dev libgtest-dev
          libbenchmark-dev)

install_missing() {
  command -v dpkg-query >/dev/null || return 0  # not Debian: CMake names what is missing
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local get=(apt-get)
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then
      echo "missing: ${missing[*]}; install them with: sudo apt-get install -y ${missing[*]}" >&2
      exit 3
    fi
    get=(sudo apt-get)
  fi
  echo "installing what is missing: ${missing[*]}"
  if ! { "${get[@]}" update -qq && DEBIAN_FRONTEND=noninteractive "${get[@]}" install -y -qq --no-install-recommends "${missing[@]}"; } >/dev/null; then
    echo "could not install; try: apt-get install -y ${missing[*]}" >&2
    exit 3
  fi
}

jobs=$(nproc)
started=$SECONDS
step() { printf '\n== %s (at %d s)\n' "$1" $((SECONDS - started)); }

# build PRESET [TARGET...]: quiet unless it fails.
build() {
  local preset=$1 log status=0
  shift
  step "build: $preset"
  log=$(mktemp)
  { cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}; } >"$log" 2>&1 || status=$?
  ((status == 0)) || { grep -v '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 100 >&2; echo "build of $preset failed; whole log: $log" >&2; exit "$status"; }
  rm -f "$log"
}

# A skipped test counts as passed in CTest: under CI only those labelled gpu may skip.
run_tests() {
  local preset=$1 log status=0
  step "tests: $preset"
  log=$(mktemp)
  set +e
  ctest --preset "$preset" -j "$jobs" 2>&1 | tee "$log" | grep -vE '(Start +[0-9]+:|Passed +[0-9.]+ sec$)'
  status=${PIPESTATUS[0]}
  set -e
  if [[ "${CI:-}" == true ]] && grep -E '\*\*\*Skipped' "$log" | grep -vE ': gpu\.'; then
    echo "the tests above were skipped, and only GPU tests may be" >&2
    status=1
  fi
  rm -f "$log"
  return "$status"
}

install_missing
failed=()
build release
run_tests release || failed+=(release)
if ((!quick)); then
  build asan
  run_tests asan || failed+=(asan)
  # ThreadSanitizer: the engine, the communicator and a sample of the recorded cells.
  build tsan autograd_test comm_test parallel_test engine_test outcome_test matrix_test recorded_cells_test
  run_tests tsan || failed+=(tsan)
fi
step "done"
if ((${#failed[@]})); then
  echo "FAILED: ${failed[*]}" >&2
  exit 1
fi
echo "all passed"
