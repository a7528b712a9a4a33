#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tenure-info's two reports say the same and are well made; described machines are told apart; failures end with a word.
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
same "kinds of its parts" "{8} [1] null" "$(query "$work/json" '' engines rank | sed 's/\[[0-9]*\]/[1]/' | xargs)"
if command -v python3 > /dev/null; then
    python3 -m json.tool "$work/json" > /dev/null || fail "python3 does not read the JSON"
fi

# Both reports tell one story.
has() { grep -qE "$1" "$work/text" || fail "the report for a person lacks: $1"; }
has "^tenure $(query "$work/json" tenure) on $(query "$work/json" host)\$"
has "^usable +$(query "$work/json" machine.usable_cpus) of $(query "$work/json" machine.machine_cpus) CPUs?: $(query "$work/json" machine.cpus)\$"
has "^affinity +$(query "$work/json" machine.affinity)\$"
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
    ends 0 env HWLOC_SYNTHETIC='numa:2 core:1 pu:1' "$TENURE_INFO"
    grep -q 'This is a described machine: nothing is bound' "$work/out" || fail "a described machine is not called one"
    ! grep -q 'engine of node' "$work/out" || fail "a described machine has an engine"
    ends 1 env HWLOC_SYNTHETIC='nonsense' "$TENURE_INFO"
    same "standard output" "" "$(cat "$work/out")"
    grep -q '^tenure-info: topology_create: ' "$work/err" || fail "no word of what failed: $(cat "$work/err")"
fi

# Failures end with a word.
ends 1 env TENURE_ISA=z80 "$TENURE_INFO"
grep -q '^tenure-info: .*z80' "$work/err" || fail "no word of what failed: $(cat "$work/err")"
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
