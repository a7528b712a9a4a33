# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests of this folder. They run tenure-info as a launcher's process and compare it with what the kernel says
# of that same process. Wants TENURE_INFO and JSON_QUERY (programs), and makes $work, a folder that goes when the test ends.

: "${TENURE_INFO:?}" "${JSON_QUERY:?}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/tenure-launch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
# What started this test is not what it looks at.
unset "${!SLURM_@}" "${!OMPI_@}" "${!PMI_@}" "${!PMIX_@}" "${!MPI_@}" "${!HWLOC_@}"

skip() {
    echo "skipped: $1"
    exit 77
}

fail() {
    echo "FAILED: $1"
    exit 1
}

# need PROGRAM PACKAGE
need() {
    command -v "$1" > /dev/null || skip "no $1 (Debian: $2)"
}

same() { # same WHAT EXPECTED FOUND
    [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

query() { # query FILE PATH...
    local file=$1
    shift
    "$JSON_QUERY" "$@" < "$file"
}

# A list of CPUs ("0-2,5"), one per line.
cpus_of() {
    local piece
    tr ',' '\n' <<< "$1" | while read -r piece; do
        seq "${piece%-*}" "${piece#*-}"
    done
}

# The first CPU of each core of a list, by the kernel's own account.
cores_of() {
    local cpu siblings
    for cpu in $(cpus_of "$1"); do
        siblings=$(cat "/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list" 2> /dev/null || echo "$cpu")
        # the smallest CPU of the list that is in this core
        comm -12 <(cpus_of "$1" | sort) <(cpus_of "$siblings" | sort) | sort -n | head -n 1
    done | sort -nu
}

# A process that a launcher started, in files of its own: what the kernel lets it run on, and what tenure makes of that.
# Started as: record.sh NAME RANK_VARIABLE; makes NAME.RANK.allowed and NAME.RANK.json.
launched=$here/record.sh

# check_process NAME RANK RANK_VARIABLE CORES: it may use so many cores, and has one worker on each, on no other CPU.
check_process() {
    local file=$1.$2 allowed cores engine_cpus=
    [ -s "$file.allowed" ] && [ -s "$file.json" ] || fail "process $2 of $1 left no report"
    allowed=$(cat "$file.allowed")
    mapfile -t cores < <(cores_of "$allowed")
    same "cores of process $2" "$4" "${#cores[@]}"
    same "its affinity" "$allowed" "$(query "$file.json" machine.affinity)"
    same "its CPUs" "$allowed" "$(query "$file.json" machine.cpus)"
    same "its usable cores" "$4" "$(query "$file.json" machine.usable_cores)"
    local engines workers=0 at
    engines=$(query "$file.json" engines)
    for ((at = 0; at < $(tr -d '[]' <<< "$engines"); at++)); do
        workers=$((workers + $(query "$file.json" "engines.$at.workers")))
        engine_cpus+="$(cpus_of "$(query "$file.json" "engines.$at.cpus")") "
    done
    same "workers of its engines" "$4" "$workers"
    same "CPUs of its engines" "${cores[*]}" "$(tr -s ' \n' '\n' <<< "$engine_cpus" | sed '/^$/d' | sort -n | xargs)"
    if [ -n "$3" ]; then
        same "its rank" "$2 $3" "$(query "$file.json" rank.number rank.from | xargs)"
    else
        same "its rank" null "$(query "$file.json" rank)"
    fi
    echo "passed: ${1##*/}, process $2: CPUs $allowed, an engine on ${cores[*]}"
}

# apart NAME RANK RANK: two processes share no CPU.
apart() {
    local common
    common=$(comm -12 <(cpus_of "$(cat "$1.$2.allowed")" | sort) <(cpus_of "$(cat "$1.$3.allowed")" | sort))
    same "CPUs of both processes" "" "$common"
}

# The CPUs and the cores that this test itself may use.
own_cpus=$(sed -n 's/^Cpus_allowed_list:[ \t]*//p' /proc/self/status)
mapfile -t own_cores < <(cores_of "$own_cpus")
