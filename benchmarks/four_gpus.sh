#!/usr/bin/env bash
# The four-GPU layout (tp 2 x pp 2, a GPU a rank over NCCL) on a machine with four GPUs, and what of it a machine with
# fewer can run; prints a table, and says what was not run.
#   benchmarks/four_gpus.sh [BIN]      the folder of the programs, default build/bin
# CULPRIT_BIG=0 leaves out the large cells, CULPRIT_TIMES=0 all that takes times.
# Exit status: 0 all that ran came out as expected, 1 something did not, 77 no GPU.
set -uo pipefail
root=$(CDPATH= cd -- "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." >/dev/null && pwd)
bin=${1:-$root/build/bin}
leaf=$bin/skip_identity_leaf
work=$(mktemp -d)
cpu_job=
trap '[ -z "$cpu_job" ] || kill "$cpu_job" 2>/dev/null; rm -rf "$work"' EXIT
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

# Whether two outcome lines tell the same story, and the first one's outcome.
same() {
  python3 -c 'import json,sys; a,b=map(json.loads,sys.argv[1:]); print(all(a[k]==b[k] for k in ("outcome","kind","where")), a["outcome"])' "$1" "$2" 2>/dev/null
}

# The large cells on the CPU, beside what the GPUs do first: one takes 18 s on two cores.
big_cells=('' --recompute=reentrant --identity=skip)
big_size=(--tp=$tp --pp=$pp --acc=1 --tokens=2048 --hidden=4096 --dtype=float16 --loss-scale=1024)
if [ "${CULPRIT_BIG:-1}" != 0 ]; then
  (
    trap 'kill $! 2>/dev/null; exit 1' TERM
    for i in "${!big_cells[@]}"; do
      "$leaf" "${big_size[@]}" ${big_cells[i]} --stall=600 >"$work/big.cpu$i" 2>"$work/big.cpu.err$i" &
      wait $!
    done
  ) &
  cpu_job=$!
fi

# The matrix on the GPUs against the CPU's, cell by cell (outcome, kind, place).
matrix() {
  local started ended
  started=$(date +%s)
  "$bin/culprit" run --tp $tp --pp $pp --recompute --no-verify --device cuda --comm $comm --out "$work/matrix.gpu" >"$work/matrix.log" 2>&1
  local status=$?
  ended=$(date +%s)
  if [ $status != 0 ]; then bad "matrix" "exit status $status: $(tail -n 1 "$work/matrix.log")"; return; fi
  if ! "$bin/culprit" run --tp $tp --pp $pp --recompute --no-verify --out "$work/matrix.cpu" >"$work/matrix.cpu.log" 2>&1; then
    bad "matrix" "the CPU's run failed: $(tail -n 1 "$work/matrix.cpu.log")"
    return
  fi
  local differences
  differences=$(python3 - "$work/matrix.gpu/cells.jsonl" "$work/matrix.cpu/cells.jsonl" <<'PY'
import json, sys
gpu, cpu = ({json.dumps(c['cell']): (c['outcome'], c['kind'], c['where']) for c in map(json.loads, open(f))} for f in sys.argv[1:])
print(len(gpu), sum(gpu[k] != cpu.get(k) for k in gpu) + len(cpu.keys() - gpu.keys()))
PY
)
  if [ "${differences#* }" = 0 ]; then
    ok "matrix: outcomes, kinds, places as on the CPU" "${differences% *} cells in $((ended - started)) s"
  else
    bad "matrix: outcomes, kinds, places as on the CPU" "$differences (cells, differing)"
  fi
}
matrix
if [ -n "$cpu_job" ]; then
  # Single cells, not the matrix: each needs a reference in float64 of its own.
  for i in "${!big_cells[@]}"; do
    "$leaf" "${big_size[@]}" ${big_cells[i]} --device=cuda --comm=$comm --stall=600 >"$work/big.gpu$i" 2>"$work/big.err$i"
    echo $? >"$work/big.status$i"
  done
  wait $cpu_job
  cpu_job=
  for i in "${!big_cells[@]}"; do
    what="2048 x 4096, float16, loss scale 1024 ${big_cells[i]}"
    told=$(same "$(cat "$work/big.gpu$i")" "$(cat "$work/big.cpu$i")")
    if [ "${told% *}" = True ]; then ok "$what" "${told#* } as on the CPU"
    else bad "$what" "exit status $(cat "$work/big.status$i") $(tail -n 1 "$work/big.err$i"); CPU: $(cat "$work/big.cpu$i" "$work/big.cpu.err$i" | cut -c 1-200)"; fi
  done
else
  not_run '2048 x 4096, float16, loss scale 1024' 'CULPRIT_BIG=0'
fi

# Several processes: started by hand with torchrun's variables, then by torchrun and mpirun.
by_variables() { # flags
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
    told=$(same "$(cat "$work"/rank*.out)" "$want")
    if [ "${told% *}" = True ] && [ "${statuses[*]}" = "$(for ((rank = 0; rank < ranks; rank++)); do echo $wanted_status; done | paste -sd' ')" ]; then
      ok "$ranks processes by torchrun's variables $more" "${told#* }, statuses ${statuses[*]}"
    else
      bad "$ranks processes by torchrun's variables $more" "statuses ${statuses[*]}: $(head -qn 1 "$work"/rank*.err | head -n 1)"
    fi
  done
  # One is killed in the middle of a cell with many small collectives, whose reference rank 0 has worked out by then.
  by_variables --acc=4096 --blocks=8
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

  # By the launchers themselves, on the PATH or beside python3 (wheels bring them).
  scripts=$(python3 -c 'import sysconfig; print(sysconfig.get_path("scripts"))' 2>/dev/null)
  found() { PATH=$PATH:$scripts${MPI_HOME:+:$MPI_HOME/bin} command -v "$1"; }
  # Name, flags of the program, then the launcher's command line: the program's line and the launcher's exit status.
  by_launcher() {
    local name=$1 more=$2 want wanted told status
    shift 2
    want=$("$leaf" --tp=$tp --pp=$pp $more)
    wanted=$?
    MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000)) \
      timeout 120 "$@" "$leaf" --tp=$tp --pp=$pp --device=cuda --comm=nccl $more >"$work/launcher.out" 2>"$work/launcher.err"
    status=$?
    # Launchers may write to stdout too.
    told=$(same "$(grep '^{"schema"' "$work/launcher.out")" "$want")
    # They end with a failure of their own choice where a process ends with one.
    if [ "${told% *}" = True ] && [ $((status == 0)) = $((wanted == 0)) ]; then
      ok "$ranks processes by $name $more" "${told#* } as on the CPU, exit status $status"
    else
      bad "$ranks processes by $name $more" "exit status $status: $(grep -v '^[- ]*$' "$work/launcher.err" | tail -n 1 | cut -c 1-300)"
    fi
  }
  torchrun=()
  if [ -n "$(found torchrun)" ]; then torchrun=("$(found torchrun)")
  elif python3 -c 'import torch.distributed.run' 2>/dev/null; then torchrun=(python3 -m torch.distributed.run); fi
  if [ ${#torchrun[@]} -gt 0 ]; then
    for more in '' --identity=skip --dtype=float16; do
      by_launcher torchrun "$more" "${torchrun[@]}" --nproc-per-node $ranks --master-addr 127.0.0.1 \
        --master-port $((30000 + RANDOM % 10000)) --no-python
    done
  else
    not_run "$ranks processes by torchrun" 'no PyTorch here'
  fi
  if [ -n "$(found mpirun)" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
    mpirun=("$(found mpirun)" -np $ranks)
    if "${mpirun[0]}" --version 2>/dev/null | grep -q 'Open MPI'; then mpirun+=(--allow-run-as-root --map-by :OVERSUBSCRIBE); fi
    for more in '' --identity=skip --dtype=float16; do
      # The processes meet at MASTER_ADDR, which works without an MPI part too, and through MPI where there is one.
      by_launcher 'mpirun, meeting at MASTER_ADDR' "$more" "${mpirun[@]}"
      if [ -e "$bin/libculprit_mpi.so" ]; then
        by_launcher 'mpirun, meeting through MPI' "$more" "${mpirun[@]}" env -u MASTER_ADDR -u MASTER_PORT
      fi
    done
    [ -e "$bin/libculprit_mpi.so" ] || not_run "$ranks processes by mpirun, meeting through MPI" 'this build has no MPI part'
  else
    not_run "$ranks processes by mpirun" 'no mpirun here'
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
    "$bin/$scenario" "${flags[@]}" --wait=left_out --device=cuda >/dev/null 2>&1
    case $? in 11 | 13) caught=$((caught + 1)) ;; esac # wrong gradient, wrong loss
    "$bin/$scenario" "${flags[@]}" --wait=kept --device=cuda >/dev/null 2>&1 && clean=$((clean + 1))
  done
  if [ $caught -gt 0 ] && [ $clean = 5 ]; then ok "$scenario" "caught in $caught of 5, with the wait $clean of 5 pass"
  else bad "$scenario" "caught in $caught of 5, with the wait $clean of 5 pass"; fi
done

# Step times against a hand-written sequence of the same products and collectives, and the pipeline's bubble.
if [ "${CULPRIT_TIMES:-1}" = 0 ]; then not_run 'step times, bubble' 'CULPRIT_TIMES=0'; exit $failed; fi
# tp, pp. The aims stand in pipeline_report.hpp, and in the lines that the program ends with.
pipeline() {
  local name="tp $1 x pp $2" out=$work/pipeline.$1.$2 status
  timeout 300 "$bin/pipeline_benchmark" --tp $1 --pp $2 --device cuda --comm $comm >"$out" 2>&1
  status=$?
  if [ $status != 0 ]; then bad "step, $name" "exit status $status: $(grep -v '^ *$' "$out" | tail -n 1)"; return; fi
  if [ $comm != nccl ]; then not_run "step by hand, bubble" "need a GPU a rank, $gpus here"; return; fi
  grep -q '^step ' "$out" || bad "step, $name" 'no line of a step in what pipeline_benchmark printed'
  while IFS='|' read -r good what result; do
    if [ "$good" = 1 ]; then ok "$what" "$result"; else bad "$what" "$result"; fi
  done < <(awk -v name="$name" '
    $1 == "step" || $1 == "bubble" { for (i = 2; i <= NF; i++) { split($i, pair, "="); v[pair[1]] = pair[2] } }
    $1 == "step" { printf "%d|step over NCCL, %s, %d micro-batches: at most 1.08 x by hand|%s (%s us, by hand %s us; %s x cuBLAS and NCCL alone)\n",
                     v["within"] == "yes", name, v["acc"], v["ratio"], v["engine_us"], v["hand_us"], v["bare_ratio"] }
    $1 == "bubble" { printf "%d|bubble, %s, %d micro-batches: within 5 points of (S-1)/(M+S-1)|%.1f %%, %.1f %%: %+.1f points\n",
                       v["within"] == "yes", name, v["acc"], 100 * v["measured"], 100 * v["expected"], v["points"] }' "$out")
}
if [ ! -x "$bin/pipeline_benchmark" ]; then not_run pipeline_benchmark 'not built (CULPRIT_BUILD_BENCHMARKS=ON)'
elif [ "$gpus" -ge 4 ]; then pipeline 2 2
elif [ "$gpus" -ge 2 ]; then pipeline 2 1; pipeline 1 2
else pipeline 2 2; fi
for out in "$work"/pipeline.*; do
  [ ! -e "$out" ] || { echo; cat "$out"; }
done
for program in runtime_benchmark nccl_benchmark; do
  if [ ! -x "$bin/$program" ]; then not_run "$program" 'not built (CULPRIT_BUILD_BENCHMARKS=ON)'; continue; fi
  if [ $program = nccl_benchmark ] && [ "$gpus" -lt 2 ]; then not_run $program "needs 2 GPUs, $gpus here"; continue; fi
  if [ $program = nccl_benchmark ]; then arguments=$((gpus < 4 ? 2 : 4)); else arguments=cuda; fi
  echo
  timeout 300 "$bin/$program" $arguments || { echo "$program: exit status $?"; failed=1; }
done
exit $failed
