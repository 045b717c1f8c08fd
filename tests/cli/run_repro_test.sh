#!/usr/bin/env bash
# End-to-end test of run_repro.sh. usage: run_repro_test.sh SOURCE_FOLDER
set -uo pipefail
root=$1
# shellcheck source=tests/cli/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/check.sh"
same() {
  if [ "$2" != "$3" ]; then
    printf 'FAILED %s: got %s, expected %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

run=$root/run_repro.sh
export XDG_CACHE_HOME=$work/cache # of reproductions: the first run builds them
check "main job finds the silent one first" 0 'SILENT +skip_c_identity \+ residual' "$run" --tp 2 --pp 2 --recompute --out main
check "main job finds recompute" 0 'skip_c_identity \+ recompute \(reentrant\) +LEAF_INPLACE in the recompute' "$run" --tp 2 --pp 2 --recompute --out main2
for file in report.md report.json junit.xml cells.jsonl; do
  [ -s "main/$file" ] || { echo "FAILED main/$file is missing"; failures=$((failures + 1)); }
done
python3 - main/report.json main/junit.xml <<'PY' || failures=$((failures + 1))
import json, sys, xml.etree.ElementTree as xml
report = json.load(open(sys.argv[1]))
assert report["schema"] == 1 and report["as_declared"] is True
switches = sorted(sorted(m["switches"].items()) for m in report["minimal_combinations"])
assert switches == [[("identity", "skip"), ("pp", "2")], [("identity", "skip"), ("recompute", "reentrant")],
                    [("identity", "skip"), ("residual", "1")]], switches
assert len(report["jobs"][0]["cells"]) == 48
assert xml.parse(sys.argv[2]).getroot().attrib["failures"] == "0"
PY
same "results are the same in two runs" \
  "$(python3 -c 'import json;r=json.load(open("main/report.json"));r.pop("run");print(hash(json.dumps(r)) and json.dumps(r))' | md5sum)" \
  "$(python3 -c 'import json;r=json.load(open("main2/report.json"));r.pop("run");print(json.dumps(r))' | md5sum)"
check "its reproductions are shown" 0 'repro.cpp`: shown: exit status 11, WRONG' cat main/report.md
# What README.md shows stands in what is printed, line after line, but for the seconds.
cp "$root/tests/data/launch/issue_59290.sh" launch.sh
"$run" --tp 2 --pp 2 --recompute --no-verify --out readme >readme.txt
"$run" --from launch.sh --no-verify --out readme2 >readme2.txt
python3 - "$root/README.md" readme.txt readme2.txt <<'PY' || { echo "FAILED README.md shows other output"; failures=$((failures + 1)); }
import re, sys
def lines(text):
    return [re.sub(r"cells in [\d.]+ s", "cells in N s", line.rstrip()) for line in text.splitlines()]
samples = re.findall(r"```\n(culprit 0\.1   tp .*?)\n```", open(sys.argv[1]).read(), re.DOTALL)
for sample, printed in zip(samples, sys.argv[2:], strict=True):
    rest = iter(lines(open(printed).read()))
    for line in lines(sample):
        assert line == "..." or line in rest, f"{printed} has not, or not there: {line}"
PY
# Else each build asks the package manager, and fails where that is not allowed.
check "what is installed is seen" 0 '^all$' bash -c '. "$1/cmake/debian_packages.sh"; for package in g++ cmake ninja-build libopenblas-dev libfmt-dev libcli11-dev nlohmann-json3-dev; do package_is_here "$package" || echo "missing: $package"; done | grep . || echo all' bash "$root"
check "an existing folder is not overwritten" 2 'exists already' "$run" --tp 2 --pp 2 --out main
check "an unknown flag names the nearest" 2 'recompute' "$run" --recomput
check "an unknown command names the nearest" 2 "unknown command 'rnu'; did you mean 'run'" "$root/build/bin/culprit" rnu --tp 2
check "an impossible size says why" 2 'tp 3 can.t split 8 features' "$run" --tp 3
check "an unknown scenario names the nearest" 2 'skip_identity_leaf' "$run" skip_identity_leav
check "help teaches" 0 'INTO the matrix' "$run" --help
check "version" 0 '^culprit [0-9]' "$run" --version
check "a launch script is read both ways" 0 'as the released column layer runs your script' "$run" --from "$root/tests/data/launch/issue_59290.sh" --out launch
grep -qF 'enable\_mp\_skip\_c\_identity' launch/report.md || { echo "FAILED the report lists the script's switches"; failures=$((failures + 1)); }
check "no launch in the script" 2 'launch' "$run" --from "$root/tests/data/README.md" --out nothing
[ ! -e nothing ] || { echo "FAILED a refused script wrote a folder"; failures=$((failures + 1)); }
cp "$root/tests/data/launch/issue_59290.sh" '<img onerror=alert(1)>.sh'
check "a hostile name is inert" 0 'report' "$run" --from '<img onerror=alert(1)>.sh' --out hostile
# Inside a code fence the command stands as typed: there markup is text.
if { sed '/^```/,/^```/d' hostile/report.md; cat hostile/junit.xml; } | grep -q '<img'; then echo "FAILED markup of a file name reached a report"; failures=$((failures + 1)); fi
check "another pipeline depth" 0 'LEAF_INPLACE' "$run" --tp 4 --pp 4 --recompute --out deep
check "every scenario comes out as declared" 0 'report' "$run" skip_identity_qlora --out qlora
exit $((failures > 0))
