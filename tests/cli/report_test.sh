#!/usr/bin/env bash
# End-to-end test of the files of a run, `culprit report` and `culprit diff`. usage: report_test.sh CULPRIT SOURCE_FOLDER
set -uo pipefail
culprit=$1
root=$2
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
# A python3 that has jsonschema; another one may stand first in PATH.
python=python3
"$python" -c 'import jsonschema' 2>/dev/null || python=/usr/bin/python3

mkdir 'home'
cp "$root/tests/data/launch/issue_59290.sh" 'home/<img src=x onerror=alert(1)>.sh'
printf '\nexport WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567\n' >>'home/<img src=x onerror=alert(1)>.sh'
check "main run" 0 'report.html \(open it\)' "$culprit" run --tp 2 --pp 2 --recompute --out main --form paddle --form deepspeed
check "hostile run" 0 'masked in the files: [1-9]' env HOME="$work/home" "$culprit" run --from "$work/home/<img src=x onerror=alert(1)>.sh" --out hostile
check "unmasked run warns" 0 'warning: --redact=none' env HOME="$work/home" "$culprit" run --from "$work/home/<img src=x onerror=alert(1)>.sh" --out open --redact none
check "every file is there, valid and inert" 0 'all files are valid' "$python" "$root/tests/cli/report_files.py" "$root" "$work/home" main hostile open

cp -r main again
check "reports are written again" 0 'report: again/report.md' "$culprit" report again --form paddle --form deepspeed
for file in report.md report.html report.json matrix.svg junit.xml ctrf.json trace.json graph.dot run.json form_paddle.md; do
  cmp "main/$file" "again/$file" || { echo "FAILED $file differs when it is written again"; failures=$((failures + 1)); }
done
check "a folder that is no run is refused" 2 'finished run' "$culprit" report home
check "an unknown form is refused" 2 'paddle' "$culprit" report main --form padle
check "equal runs do not differ" 0 ' 0 came out otherwise' "$culprit" diff main again
# A fix: every failing cell that keeps the defect passes now.
sed -E 's/"outcome":"ERROR","kind":"LEAF_INPLACE","where":"[^"]*","fingerprint":"[^"]*"/"outcome":"PASS","kind":"","where":"","fingerprint":""/' main/cells.jsonl >again/cells.jsonl
check "what a fix clears is named" 0 'fixed.*--identity=skip' "$culprit" diff main again
check "what got worse is named and is status 1" 1 'broken.*--identity=skip' "$culprit" diff again main
check "another scenario is refused" 2 "can't be compared" bash -c "'$culprit' run overlap_stopped_input --out other >/dev/null; '$culprit' diff main other"
exit $((failures > 0))
