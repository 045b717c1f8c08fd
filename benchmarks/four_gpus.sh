#!/usr/bin/env bash
# The four-GPU layout (tp 2 x pp 2, a GPU a rank over NCCL) on a machine with four GPUs, and what of it a machine with
# fewer can run; prints a table, and says what was not run.
#   benchmarks/four_gpus.sh [BIN]      the folder of the programs, default build/bin
# Exit status: 0 all that ran came out as expected, 1 something did not, 77 no GPU.
set -uo pipefail
root=$(CDPATH= cd -- "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." >/dev/null && pwd)
bin=${1:-$root/build/bin}
leaf=$bin/skip_identity_leaf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
[ "$gpus" -gt 0 ] || { echo 'no GPU here (nvidia-smi lists none)'; exit 77; }
failed=0
row() { printf '| %s | %s | %s |\n' "$1" "$2" "$3"; }
ok() { row "$1" "$2" yes; }
bad() { row "$1" "$2" NO; failed=1; }
not_run() { row "$1" "$2" 'not run'; }

printf '%s GPU%s: %s\n\n' "$gpus" "$([ "$gpus" = 1 ] || echo s)" "$(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | tr -s ' \n' ' ')"
row what result 'as expected'
row --- --- ---

# The layout that these GPUs have room for, a GPU a rank.
if [ "$gpus" -ge 4 ]; then tp=2 pp=2; elif [ "$gpus" -ge 2 ]; then tp=2 pp=1; else tp=2 pp=2; fi
if [ "$gpus" -ge 2 ]; then comm=nccl; else comm=local; fi
ranks=$((tp * pp))
[ "$gpus" -ge 4 ] || not_run 'tp 2 x pp 2 over NCCL' "needs 4 GPUs, $gpus here; tp $tp x pp $pp with --comm $comm instead"

# Name, flags: the matrix on the GPUs against the CPU's, cell by cell (outcome, kind, place).
matrix() {
  local name=$1 started ended
  shift
  started=$(date +%s)
  "$bin/culprit" run --tp $tp --pp $pp --recompute --no-verify --device cuda --comm $comm --out "$work/$name.gpu" "$@" >"$work/$name.log" 2>&1
  local status=$?
  ended=$(date +%s)
  if [ $status != 0 ]; then bad "matrix $*" "exit status $status: $(tail -n 1 "$work/$name.log")"; return; fi
  if ! "$bin/culprit" run --tp $tp --pp $pp --recompute --no-verify --out "$work/$name.cpu" "$@" >"$work/$name.cpu.log" 2>&1; then
    bad "matrix $*" "the CPU's run failed: $(tail -n 1 "$work/$name.cpu.log")"
    return
  fi
  local differences
  differences=$(python3 - "$work/$name.gpu/cells.jsonl" "$work/$name.cpu/cells.jsonl" <<'PY'
import json, sys
gpu, cpu = ({json.dumps(c['cell']): (c['outcome'], c['kind'], c['where']) for c in map(json.loads, open(f))} for f in sys.argv[1:])
print(len(gpu), sum(gpu[k] != cpu.get(k) for k in gpu) + len(cpu.keys() - gpu.keys()))
PY
)
  if [ "${differences#* }" = 0 ]; then
    ok "matrix $*: outcomes, kinds, places as on the CPU" "${differences% *} cells in $((ended - started)) s"
  else
    bad "matrix $*: outcomes, kinds, places as on the CPU" "$differences (cells, differing)"
  fi
}
matrix small
if [ -n "${CULPRIT_BIG-1}" ] && [ "${CULPRIT_BIG-1}" != 0 ]; then
  # One cell, not the matrix: the reference's float64 products on the CPU take minutes at this size.
  size=(--tp=$tp --pp=$pp --acc=1 --tokens=2048 --hidden=4096 --dtype=float16 --loss-scale=1024)
  for more in '' --recompute=reentrant '--identity=skip'; do
    out=$("$leaf" "${size[@]}" $more --device=cuda --comm=$comm 2>"$work/big.err")
    status=$?
    cpu=$("$leaf" "${size[@]}" $more --stall=600)
    same=$(python3 -c 'import json,sys; a,b=map(json.loads,sys.argv[1:]); print(all(a[k]==b[k] for k in ("outcome","kind","where")), a["outcome"])' "$out" "$cpu" 2>/dev/null)
    if [ "${same% *}" = True ]; then ok "2048 x 4096, float16, loss scale 1024 $more" "${same#* } as on the CPU"
    else bad "2048 x 4096, float16, loss scale 1024 $more" "exit status $status $(tail -n 1 "$work/big.err")"; fi
  done
else
  not_run '2048 x 4096, float16, loss scale 1024' 'CULPRIT_BIG=0'
fi

# Several processes: started by hand with torchrun's variables, then by mpirun.
by_variables() { # command prefix, flags
  local rank port=$((20000 + RANDOM % 10000)) pids=()
  for ((rank = 0; rank < ranks; rank++)); do
    RANK=$rank WORLD_SIZE=$ranks LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
      "$leaf" --tp=$tp --pp=$pp --device=cuda --comm=nccl "$@" >"$work/rank$rank.out" 2>"$work/rank$rank.err" &
    pids+=($!)
  done
  started_pids=("${pids[@]}")
}
if [ $comm = nccl ]; then
  for more in '' --identity=skip --dtype=float16; do
    by_variables $more
    statuses=()
    for pid in "${started_pids[@]}"; do wait "$pid"; statuses+=($?); done
    want=$("$leaf" --tp=$tp --pp=$pp $more)
    wanted_status=$?
    line=$(cat "$work"/rank*.out)
    same=$(python3 -c 'import json,sys; a,b=map(json.loads,sys.argv[1:]); print(all(a[k]==b[k] for k in ("outcome","kind","where")), a["outcome"])' "$line" "$want" 2>/dev/null)
    if [ "${same% *}" = True ] && [ "${statuses[*]}" = "$(for ((rank = 0; rank < ranks; rank++)); do echo $wanted_status; done | paste -sd' ')" ]; then
      ok "$ranks processes by torchrun's variables $more" "${same#* }, statuses ${statuses[*]}"
    else
      bad "$ranks processes by torchrun's variables $more" "statuses ${statuses[*]}: $(head -qn 1 "$work"/rank*.err | head -n 1)"
    fi
  done
  # One is killed in the middle of a long cell: the others end, with its name.
  by_variables --acc=4096 --blocks=4 --hidden=64 --tokens=64
  sleep 7
  kill -9 "${started_pids[1]}" 2>/dev/null
  began=$(date +%s%N)
  statuses=()
  for pid in "${started_pids[@]}"; do wait "$pid" 2>/dev/null; statuses+=($?); done
  took=$((($(date +%s%N) - began) / 1000000))
  if [ $took -lt 5000 ] && grep -q "rank 1's process has ended" "$work/rank0.err"; then
    ok 'one process killed: the others end within 5 s, with its name' "after $took ms, statuses ${statuses[*]}"
  else
    bad 'one process killed: the others end within 5 s, with its name' "after $took ms, statuses ${statuses[*]}: $(tail -n 1 "$work/rank0.err")"
  fi
  if [ -e "$bin/libculprit_mpi.so" ] && command -v mpirun >/dev/null; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    if mpirun -np $ranks "$leaf" --tp=$tp --pp=$pp --device=cuda --comm=nccl >"$work/mpirun.out" 2>"$work/mpirun.err"; then
      ok "$ranks processes by mpirun" PASS
    else
      bad "$ranks processes by mpirun" "$(tail -n 1 "$work/mpirun.err")"
    fi
  else
    not_run "$ranks processes by mpirun" 'no MPI here'
  fi
else
  not_run 'a process each over NCCL' "needs 2 GPUs, $gpus here"
fi

# The timing faults, which a GPU must show and the harness catch; with the wait none may fail.
for scenario in overlap_unwaited_reduce scale_before_reduce send_buffer_reused; do
  caught=0 clean=0
  for _ in 1 2 3 4 5; do
    flags=(--tp=2 --pp=1 --hidden=512 --tokens=256)
    [ $scenario = send_buffer_reused ] && flags=(--tp=2 --pp=2 --hidden=512 --tokens=256)
    "$bin/$scenario" "${flags[@]}" --wait=left_out --device=cuda >/dev/null 2>&1 || caught=$((caught + 1))
    "$bin/$scenario" "${flags[@]}" --wait=kept --device=cuda >/dev/null 2>&1 && clean=$((clean + 1))
  done
  if [ $caught -gt 0 ] && [ $clean = 5 ]; then ok "$scenario" "caught in $caught of 5, with the wait $clean of 5 pass"
  else bad "$scenario" "caught in $caught of 5, with the wait $clean of 5 pass"; fi
done

# Step times: against a hand-written sequence of the same products and collectives.
for program in runtime_benchmark nccl_benchmark; do
  if [ ! -x "$bin/$program" ]; then not_run "$program" 'not built (CULPRIT_BUILD_BENCHMARKS=ON)'; continue; fi
  if [ $program = nccl_benchmark ] && [ "$gpus" -lt 2 ]; then not_run $program "needs 2 GPUs, $gpus here"; continue; fi
  if [ $program = nccl_benchmark ]; then arguments=$((gpus < 4 ? 2 : 4)); else arguments=cuda; fi
  echo
  "$bin/$program" $arguments || failed=1
done
exit $failed
