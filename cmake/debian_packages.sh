# Sourced by run_repro.sh and tests/run.sh: what is needed to build, whether it is here, and how it is got.

# What shows that a Debian package (or the same thing installed in another way) is here: a program in PATH, or a
# header below an include folder.
package_is_here() {
  local probe dir
  case $1 in
    g++) probe=${CXX:-g++} ;;
    ninja-build) probe=ninja ;;
    libopenblas-dev) probe='openblas_config.h' ;; # cblas.h alone may be another library's
    libfmt-dev) probe=fmt/format.h ;;
    libcli11-dev) probe=CLI/App.hpp ;;
    nlohmann-json3-dev) probe=nlohmann/json.hpp ;;
    libgtest-dev) probe=gtest/gtest.h ;;
    libopenmpi-dev) probe=mpicxx ;;
    openmpi-bin) probe=mpirun ;;
    python3-jsonschema)
      python3 -c 'import jsonschema' 2>/dev/null || /usr/bin/python3 -c 'import jsonschema' 2>/dev/null
      return
      ;;
    *) probe=$1 ;;
  esac
  case $probe in
    *.h | *.hpp)
      for dir in /usr/include /usr/local/include '/usr/include/*-linux-gnu' '/usr/include/*-linux-gnu/openblas*'; do
        compgen -G "$dir/$probe" >/dev/null && return 0
      done
      return 1
      ;;
    *) command -v "$probe" >/dev/null ;;
  esac
}

# ensure_packages PROGRAM LOG PACKAGE...: installs what is missing where apt-get may be used (and says so first), else
# prints the one line to run. Ends PROGRAM with exit status 3 when something stays missing.
ensure_packages() {
  local program=$1 log=$2 package
  local -a missing=()
  shift 2
  for package in "$@"; do package_is_here "$package" || missing+=("$package"); done
  [ "${#missing[@]}" -gt 0 ] || return 0
  local line="apt-get install -y --no-install-recommends ${missing[*]}"
  if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    printf '%s: missing: %s; run: sudo %s\n' "$program" "${missing[*]}" "$line" >&2
    exit 3
  fi
  printf '%s: installing %s\n' "$program" "${missing[*]}" >&2
  mkdir -p "$(dirname "$log")"
  # shellcheck disable=SC2086
  if ! { DEBIAN_FRONTEND=noninteractive apt-get update -q && DEBIAN_FRONTEND=noninteractive $line -q; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    printf '%s: could not install; the whole log is %s\n' "$program" "$log" >&2
    exit 3
  fi
}
