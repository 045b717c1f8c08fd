#!/usr/bin/env bash
# Builds culprit into build/ (quietly, without the tests) and passes all flags to `culprit run`.
#   ./run_repro.sh --tp 2 --pp 2 --recompute      the main job
#   ./run_repro.sh --from launch.sh               a reporter's launch script, read and never run
#   ./run_repro.sh --help
# Needs a C++20 compiler, CMake, Ninja, OpenBLAS, fmt, CLI11 and nlohmann/json; on Debian what is missing is
# installed with apt-get where that is allowed. Uses no other network. Exit status 3: could not build.
set -euo pipefail
root=$(CDPATH= cd -- "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")" >/dev/null && pwd)
build=$root/build
binary=$build/bin/culprit

# Everything that is built from, by age: no build tool runs when nothing is newer than the program.
is_fresh() {
  [ -x "$binary" ] && [ -f "$build/.complete" ] &&
    [ -z "$(find "$root/src" "$root/repro" "$root/cmake" "$root/CMakeLists.txt" -newer "$build/.complete" -print -quit)" ] &&
    # The report names the commit: a new one changes the log of HEAD.
    ! { [ -f "$root/.git/logs/HEAD" ] && [ "$root/.git/logs/HEAD" -nt "$build/.complete" ]; }
}

fail() {
  printf 'run_repro.sh: %s\n' "$1" >&2
  exit 3
}

build_culprit() {
  # shellcheck source=cmake/debian_packages.sh
  . "$root/cmake/debian_packages.sh"
  ensure_packages run_repro.sh "$build/install.log" g++ cmake ninja-build libopenblas-dev libfmt-dev libcli11-dev nlohmann-json3-dev
  mkdir -p "$build"
  printf 'run_repro.sh: building (about a minute on two cores, once) ...\n' >&2
  local marker=$build/.started
  touch "$marker"
  rm -f "$build/.complete"
  if ! { cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCULPRIT_BUILD_TESTS=OFF -DCULPRIT_UNITY=ON && cmake --build "$build" --target culprit_programs; } >"$build/build.log" 2>&1; then
    grep -E -m 10 'error|Error|not found' "$build/build.log" >&2 || tail -n 20 "$build/build.log" >&2
    fail "the build failed; the whole log is $build/build.log"
  fi
  mv "$marker" "$build/.complete"
}

if ! is_fresh; then
  # Two first runs at once: the second waits, and then finds everything built.
  mkdir -p "$build"
  exec 9>"$build/.lock"
  if command -v flock >/dev/null; then flock 9; fi
  is_fresh || build_culprit
  exec 9>&-
fi
case "${1-}" in
  --version) exec "$binary" --version ;;
  *) exec "$binary" run "$@" ;;
esac
