# Sourced by the end-to-end tests: goes into a folder of its own that is removed at the end, and counts failures.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# check NAME EXPECTED_STATUS PATTERN COMMAND...: the command's status and a pattern in its output.
check() {
  local name=$1 expected=$2 pattern=$3 status
  shift 3
  "$@" >"$work/output" 2>&1
  status=$?
  if [ "$status" != "$expected" ] || ! grep -qE -- "$pattern" "$work/output"; then
    printf 'FAILED %s: status %s, expected %s and /%s/ in:\n' "$name" "$status" "$expected" "$pattern"
    head -n 30 "$work/output"
    failures=$((failures + 1))
  else
    printf 'ok %s\n' "$name"
  fi
}
