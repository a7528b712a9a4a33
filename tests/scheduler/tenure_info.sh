#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tenure-info's two reports say the same and are well made; the verdict names what is bound; described machines are told apart;
# a bad setting hides nothing else; failures end with a word.
set -euo pipefail
# shellcheck source=tests/scheduler/checks.sh
. "$(dirname "$0")/checks.sh"

# ends STATUS COMMAND...: the status with which it must end; output in $work/out and $work/err
ends() {
    local expected=$1 status=0
    shift
    "$@" > "$work/out" 2> "$work/err" || status=$?
    same "status of ${*##*/}" "$expected" "$status"
}

ends 0 "$TENURE_INFO"
cp "$work/out" "$work/text"
same "standard error" "" "$(cat "$work/err")"
ends 0 "$TENURE_INFO" --json
cp "$work/out" "$work/json"
same "standard error" "" "$(cat "$work/err")"
same "kinds of its parts" "{10} [1] null" "$(query "$work/json" '' engines rank | sed 's/\[[0-9]*\]/[1]/' | xargs)"
if command -v python3 > /dev/null; then
    python3 -m json.tool "$work/json" > /dev/null || fail "python3 does not read the JSON"
fi

# Both reports tell one story.
has() { grep -qE "$1" "$work/text" || fail "the report for a person lacks: $1"; }
has "^tenure $(query "$work/json" tenure) on $(query "$work/json" host)\$"
has "^usable +$(query "$work/json" machine.usable_cpus) of $(query "$work/json" machine.machine_cpus) CPUs?: $(query "$work/json" machine.cpus)\$"
has "^affinity +$(query "$work/json" machine.affinity)\$"
has "^verdict +$(query "$work/json" verdict)\$"
same "problems" "[0]" "$(query "$work/json" problems)"
has "^  kernels +$(query "$work/json" engines.0.isa), "
has "^f64 +$(query "$work/json" engines.0.kernels.f64.elements) +$(query "$work/json" engines.0.kernels.f64.math) +$(query "$work/json" engines.0.kernels.f64.product)\$"
has "^built with hwloc $(query "$work/json" features.hwloc), blis $(query "$work/json" features.blis), vector math $(query "$work/json" features.vector_math), "
same "products of integers" null "$(query "$work/json" engines.0.kernels.i64.product)"

# A rank is shown when a launcher gives one; a word that is no number is not.
ends 0 env PMI_RANK=3 "$TENURE_INFO" --json
same "rank" "3 PMI_RANK" "$(query "$work/out" rank.number rank.from | xargs)"
ends 0 env PMI_RANK=3x "$TENURE_INFO" --json
same "rank" null "$(query "$work/out" rank)"
ends 0 env SLURM_PROCID=7 "$TENURE_INFO"
grep -q ', rank 7 (SLURM_PROCID)$' "$work/out" || fail "the report for a person lacks the rank"

# The verdict: who shares CPUs with whom, as far as this process can know, and how many workers that makes.
verdict() { # verdict EXPECTED COMMAND...
    local expected=$1
    shift
    ends 0 "$@" "$TENURE_INFO" --json
    same "verdict of ${*:-nothing}" "$expected" "$(query "$work/out" verdict)"
}
usable=$(query "$work/json" machine.usable_cpus)
whole=$(query "$work/json" machine.machine_cpus)
cores=$(query "$work/json" machine.usable_cores)
workers="$cores workers"
[ "$cores" -gt 1 ] || workers='one worker'
if [ "$usable" = "$whole" ]; then
    verdict "nothing is bound: this process has all $whole CPUs; $workers" env
    verdict "nothing is bound: all ranks on this host would share all $whole CPUs; $workers" env PMI_RANK=3
    verdict "nothing is bound: 4 ranks on this host would share all $whole CPUs; $workers" \
        env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=4
    verdict "nothing is bound: 3 ranks on this host would share all $whole CPUs; $workers" env PMI_RANK=0 MPI_LOCALNRANKS=3
    verdict "nothing is bound: the only rank on this host has all $whole CPUs; $workers" env PMI_RANK=0 MPI_LOCALNRANKS=1
    # Slurm says it per node: 8, 8, 5, 2, and nothing of a fifth.
    tasks=(8 8 5 2)
    for node in 0 1 2 3; do
        verdict "nothing is bound: ${tasks[node]} ranks on this host would share all $whole CPUs; $workers" \
            env SLURM_PROCID=0 SLURM_NODEID=$node 'SLURM_STEP_TASKS_PER_NODE=8(x2),5,2'
    done
    for list in '8(x2),5,2' '' '8(' '8(x' '8(x)' '8(x0),3' '-3' 'three' '2;3'; do
        verdict "nothing is bound: all ranks on this host would share all $whole CPUs; $workers" \
            env SLURM_PROCID=0 SLURM_NODEID=4 "SLURM_STEP_TASKS_PER_NODE=$list"
    done
fi
if [ "$whole" -ge 2 ] && command -v taskset > /dev/null; then
    one=(taskset -c "${own_cores[0]}" env)
    verdict "this process is bound to 1 of $whole CPUs; one worker" "${one[@]}"
    verdict "the launcher bound this process to 1 of $whole CPUs; one worker" "${one[@]}" SLURM_PROCID=0
    verdict "the launcher bound this process to 1 of $whole CPUs; one worker" "${one[@]}" PMI_RANK=0 "MPI_LOCALNRANKS=$whole"
    verdict "the launcher bound this process to 1 of $whole CPUs, but $((whole + 1)) ranks on this host with so many each \
must share some; one worker" "${one[@]}" PMI_RANK=0 "MPI_LOCALNRANKS=$((whole + 1))"
    same "ranks on this host" $((whole + 1)) "$(query "$work/out" rank.ranks_on_host)"
fi

# Fewer kernels, and caps, are seen.
ends 0 env TENURE_ISA=baseline TENURE_POOL_MAX_BYTES=3M "$TENURE_INFO" --json
same "cap" $((3 << 20)) "$(query "$work/out" engines.0.pool_max_bytes)"
same "kernels" baseline "$(query "$work/out" engines.0.isa)"

# Described machines: their shape, but no binding and no engine, whatever they are called.
if [ "$(query "$work/json" machine.hwloc)" = true ]; then
    ends 0 env HWLOC_SYNTHETIC='pack:2 numa:2 l3:1 core:3 pu:2' "$TENURE_INFO" --json
    same "shape" "true false 24 12 4 [4] [24] [0]" "$(query "$work/out" machine.described machine.binding \
        machine.usable_cpus machine.usable_cores machine.usable_nodes nodes cpus engines | xargs)"
    same "binding" "null null false described machine" "$(query "$work/out" nodes.3.binding.requested \
        nodes.3.binding.bound nodes.3.binding.verified nodes.3.binding.reason | xargs)"
    same "affinity" "null $(query "$work/json" machine.affinity)" \
        "$(query "$work/out" machine.affinity machine.real_affinity | xargs)"
    same "verdict" "none: a described machine runs nothing" "$(query "$work/out" verdict)"
    ends 0 env HWLOC_SYNTHETIC='numa:2 core:1 pu:1' "$TENURE_INFO"
    grep -q '^affinity .* (on the real machine, not on this one)$' "$work/out" || fail "whose affinity it is remains open"
    grep -q 'This is a described machine: nothing is bound' "$work/out" || fail "a described machine is not called one"
    ! grep -q 'engine of node' "$work/out" || fail "a described machine has an engine"
    ends 1 env HWLOC_SYNTHETIC='nonsense' "$TENURE_INFO"
    same "standard output" "" "$(cat "$work/out")"
    grep -q '^tenure-info: topology_create: ' "$work/err" || fail "no word of what failed: $(cat "$work/err")"
fi

# A setting that no engine can be made with hides nothing else; which one it is stands in the report and on standard error.
bad() { # bad WORD VARIABLE=VALUE...
    local word=$1
    shift
    ends 1 env "$@" "$TENURE_INFO"
    grep -q "^tenure-info: .*$word" "$work/err" || fail "no word of $*: $(cat "$work/err")"
    grep -q "^  .*$word" "$work/out" || fail "the report for a person does not name $word"
    grep -q '^usable  ' "$work/out" || fail "$* hides the usable CPUs"
    grep -q '^built with hwloc ' "$work/out" || fail "$* hides what is built in"
    ends 1 env "$@" "$TENURE_INFO" --json
    for part in machine.cpus machine.affinity machine.usable_nodes nodes.0.binding.bound nodes.0.binding.verified cpus.0.l2_bytes; do
        same "$part with $*" "$(query "$work/json" "$part")" "$(query "$work/out" "$part")"
    done
    grep -q "$word" <<< "$(query "$work/out" problems.0)" || fail "$word is no problem in the JSON"
}
nodes=$(query "$work/json" engines | tr -d '[]')
bad z80 TENURE_ISA=z80
same "engines and problems" "[0] [$nodes]" "$(query "$work/out" engines problems | xargs)"
bad TENURE_POOL_MAX_BYTES TENURE_POOL_MAX_BYTES=lots
same "engines and problems" "[$nodes] [1]" "$(query "$work/out" engines problems | xargs)"
same "cap of no pool" null "$(query "$work/out" engines.0.pool_max_bytes)"
same "kernels" "$(query "$work/json" engines.0.isa)" "$(query "$work/out" engines.0.isa)"
bad TENURE_POOL_MAX_BYTES TENURE_POOL_MAX_BYTES=lots TENURE_ISA=z80
same "engines and problems" "[0] [$((nodes + 1))]" "$(query "$work/out" engines problems | xargs)"
grep -q 'z80' <<< "$(query "$work/out" problems.1)" || fail "one bad setting hides the other"

# Failures end with a word.
ends 2 "$TENURE_INFO" --yaml
grep -q '^usage: ' "$work/err" || fail "no usage for words that are not known"
ends 0 "$TENURE_INFO" --help
if [ -c /dev/full ]; then
    status=0
    "$TENURE_INFO" > /dev/full 2> "$work/err" || status=$?
    same "status with a full disk" 1 "$status"
    grep -q 'could not be written' "$work/err" || fail "no word of the full disk"
fi
echo "passed: tenure-info"
