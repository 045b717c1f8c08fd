#!/usr/bin/env bash
# End-to-end test of the files of a run, `culprit report` and `culprit diff`. usage: report_test.sh CULPRIT SOURCE_FOLDER
set -uo pipefail
culprit=$1
root=$2
# shellcheck source=tests/cli/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/check.sh"
# A python3 that has jsonschema; another one may stand first in PATH.
python=python3
"$python" -c 'import jsonschema' 2>/dev/null || python=/usr/bin/python3

mkdir 'home'
cp "$root/tests/data/launch/issue_59290.sh" 'home/<img src=x onerror=alert(1)>.sh'
printf '\nexport WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567\n' >>'home/<img src=x onerror=alert(1)>.sh'
check "main run" 0 'report.html \(open it\)' "$culprit" run --tp 2 --pp 2 --recompute --out main --no-verify --form paddle --form deepspeed
check "hostile run" 0 'masked in the files: [1-9]' env HOME="$work/home" "$culprit" run --from "$work/home/<img src=x onerror=alert(1)>.sh" --no-verify --out hostile
check "unmasked run warns" 0 'warning: --redact=none' env HOME="$work/home" "$culprit" run --from "$work/home/<img src=x onerror=alert(1)>.sh" --no-verify --out open --redact none
check "every file is there, valid and inert" 0 'all files are valid' "$python" "$root/tests/cli/report_files.py" "$root" "$work/home" main hostile open

cp -r main again
check "reports are written again" 0 'report: again/report.md' "$culprit" report again --form paddle --form deepspeed
for file in report.md report.html report.json matrix.svg junit.xml ctrf.json trace.json graph.dot run.json form_paddle.md; do
  cmp "main/$file" "again/$file" || { echo "FAILED $file differs when it is written again"; failures=$((failures + 1)); }
done
check "cells without a name for their file" 2 'cells: --out: got an empty value' "$culprit" cells nothing.csv --out ''
check "a folder that is no run is refused" 2 'finished run' "$culprit" report home
check "an unknown form is refused" 2 'paddle' "$culprit" report main --form padle
check "equal runs do not differ" 0 ' 0 came out otherwise' "$culprit" diff main again
# A fix: every failing cell that keeps the defect passes now.
sed -E 's/"outcome":"ERROR","kind":"LEAF_INPLACE","where":"[^"]*","fingerprint":"[^"]*"/"outcome":"PASS","kind":"","where":"","fingerprint":""/' main/cells.jsonl >again/cells.jsonl
check "what a fix clears is named" 0 'fixed.*--identity=skip' "$culprit" diff main again
check "what got worse is named and is status 1" 1 'broken.*--identity=skip' "$culprit" diff again main
check "another scenario is refused" 2 "can't be compared" bash -c "'$culprit' run overlap_stopped_input --no-verify --out other >/dev/null; '$culprit' diff main other"
# Two releases: 2.6.2 does not know what a saved none is.
check "a run of an older release" 0 'SAVE_NONE' "$culprit" run nonreentrant_frozen_linear --framework paddle@2.6.2 --no-verify --out older
check "and of a newer one" 0 'frozen' "$culprit" run nonreentrant_frozen_linear --no-verify --out newer
check "what got worse since a release is named with it" 1 'turned silent since paddle@3.3.1' "$culprit" diff older newer

check "an older release is no since" 0 'differs under paddle@2.6.2' "$culprit" diff newer older
for damage in 's|"jobs": \[|"jobs": 5, "x": [|' 's|"title": ""|"title": 5|' 's|"with_recompute": true|"with_recompute": 7|' 's|"minimal": 0|"minimal": 1e300|' 's|"minimal": 0|"minimal": 9|'; do
  rm -rf damaged
  cp -r main damaged
  sed -i "$damage" damaged/run.json
  check "a damaged record is said to be one: $damage" 3 'run.json|cells.jsonl' "$culprit" report damaged
done

rm -rf damaged
cp -r main damaged
printf '{"schema":1,' >damaged/traces/1.json
check "a damaged trace is named" 3 'damaged/traces/1.json: not a trace' "$culprit" report damaged

# Stand-alone reproductions.
# A compiler that fails as long as there is a file "broken".
printf '#!/bin/sh\n[ "$1" != --version ] && [ -e "%s/broken" ] && { echo no space left >&2; exit 1; }\nexec g++ "$@"\n' "$work" >compiler
chmod +x compiler
verified() { env CXX="$work/compiler" XDG_CACHE_HOME="$work/cache" "$culprit" run overlap_stopped_input --out "$1"; }
touch broken
check "a build that fails is not run, with the reason" 0 'repro.cpp: not run here: does not build: exit status 1: no space left' verified unbuilt
rm broken
check "reproductions are built and run" 0 'repro_test.cpp: shown for 1 of 1' verified verified
touch broken
check "seen before: nothing is built" 0 'repro_test.cpp: shown for 1 of 1' verified verified2
check "no place to build costs no report" 0 'repro.cpp: not run here: not checked: ' env -u HOME -u XDG_CACHE_HOME TMPDIR=/nonexistent "$culprit" run overlap_stopped_input --out no_place
[ -s no_place/report.html ] || { echo "FAILED no_place/report.html is missing"; failures=$((failures + 1)); }
check "what was seen is in the report" 0 'repros/.*/repro.cpp`: shown: exit status 10, ERROR' cat verified/report.md
check "the program stands in the report" 0 '^import paddle' cat verified/report.md
cp -r verified less
rm less/repros/*/repro.py
check "a reproduction that was taken away is said" 0 'repro.py: not written: no longer in the run' "$culprit" report less
cp -r verified outside
sed -i 's|"folder": "repros/|"folder": "../home/|' outside/run.json
cp -r verified linked
ln -s "$work/home" linked/repros/x
sed -i 's|"folder": "repros/[^"]*"|"folder": "repros/x"|' linked/run.json
check "nor by a link" 3 "is not in the run's folder" "$culprit" report linked
check "a record can't quote files from elsewhere" 3 "is not in the run's folder" "$culprit" report outside
# Stopped while they are built: what is found is kept.
printf '#!/bin/sh\ncase "$1" in --version) echo slow 1;; *) touch "%s/building"; sleep 60;; esac\n' "$work" >slow_compiler
chmod +x slow_compiler
stopped() {
  rm -f building
  env CXX="$work/slow_compiler" XDG_CACHE_HOME="$work/cache" "$culprit" run overlap_stopped_input --out stopped &
  local pid=$!
  for _ in $(seq 300); do [ -e building ] && break; sleep 0.1; done
  kill -TERM "$pid" # background jobs ignore SIGINT
  wait "$pid"
}
check "a stop while they are built" 3 'stopped by a signal while reproductions' stopped
check "its report says so" 0 'repro.cpp`: not run here: not checked: stopped' cat stopped/report.md
exit $((failures > 0))
