#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Under srun --cpu-bind=cores each task has an engine on exactly its core; ranks of MPI too, under srun --mpi=pmix and in a job of sbatch.
#
# The test starts a Slurm of its own: munged, slurmctld and slurmd with a key, a configuration, ports and folders that are
# theirs alone, on the loopback address, with task/affinity and proctrack/linuxproc, without accounting and cgroups. Where
# the system allows it they live in namespaces of their own (network and host name: nothing reaches them from outside;
# processes: nothing can outlast the test). The trap at the end stops them everywhere.
set -euo pipefail

if [ -z "${TENURE_TEST_APART:-}" ]; then
    network=(unshare --net --uts)
    processes=(--mount --pid --fork --kill-child --mount-proc) # not where the root is no mount of its own: chroot
    if "${network[@]}" "${processes[@]}" true 2> /dev/null; then
        TENURE_TEST_APART=yes exec "${network[@]}" "${processes[@]}" "$0" "$@"
    elif "${network[@]}" true 2> /dev/null; then
        TENURE_TEST_APART=yes exec "${network[@]}" "$0" "$@"
    fi
    TENURE_TEST_APART=no
fi

# shellcheck source=tests/scheduler/checks.sh
. "$(dirname "$0")/checks.sh"
PATH=$PATH:/usr/sbin:/sbin
need munged munge
need slurmctld slurmctld
need slurmd slurmd
need srun slurm-client
[ "$(id -u)" -eq 0 ] || skip "slurmd must be started by root"
if [ "$TENURE_TEST_APART" = yes ]; then
    hostname localhost
    ip=(ip)
    command -v ip > /dev/null || ip=(busybox ip)
    # Names are not looked up on a host that has nothing but 127.0.0.1: the device also gets an address that is nobody's.
    { "${ip[@]}" link set lo up && "${ip[@]}" addr add 192.0.2.1/32 dev lo; } || fail "the loopback device does not come up"
fi

services=()
stop() {
    local at service
    # in the opposite order; who does not end in five seconds is ended
    for ((at = ${#services[@]} - 1; at >= 0; at--)); do
        service=${services[at]}
        kill "$service" 2> /dev/null || continue
        for ((wait = 0; wait < 50; wait++)); do
            kill -0 "$service" 2> /dev/null || break
            sleep 0.1
        done
        kill -KILL "$service" 2> /dev/null || true
        wait "$service" 2> /dev/null || true
    done
    services=()
}
finish() {
    local status=$?
    stop
    if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
        tail -n 25 "$work"/*.log 2> /dev/null || true
    fi
    rm -rf "$work"
}
trap finish EXIT

start() { # start NAME COMMAND...
    local name=$1
    shift
    "$@" > "$work/$name.log" 2>&1 < /dev/null &
    services+=($!)
}

# wait_until SECONDS WHAT COMMAND...: the command's success; a service that ended meanwhile is the failure.
wait_until() {
    local limit=$((SECONDS + $1)) what=$2 service
    shift 2
    until "$@" > /dev/null 2>&1; do
        [ "$SECONDS" -lt "$limit" ] || fail "$what"
        for service in "${services[@]}"; do
            kill -0 "$service" 2> /dev/null || fail "$what: a service has ended"
        done
        sleep 0.1
    done
}

free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        # local addresses of both tables: "...:PORT" in hexadecimal
        if ! grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$port") " /proc/net/tcp /proc/net/tcp6 2> /dev/null; then
            echo "$port"
            return 0
        fi
    done
}

chmod 755 "$work"
mkdir "$work/munge" "$work/state" "$work/spool"
dd if=/dev/urandom of="$work/munge/key" bs=1024 count=1 status=none
chmod 400 "$work/munge/key"
node=$(hostname -s)
shape=$(slurmd -C 2> /dev/null | tr ' ' '\n' | grep -E '^(CPUs|Boards|SocketsPerBoard|CoresPerSocket|ThreadsPerCore)=' | xargs)
[ -n "$shape" ] || fail "slurmd does not tell the shape of this machine"
export SLURM_CONF=$work/slurm.conf
cat > "$SLURM_CONF" << CONFIGURATION
ClusterName=tenure
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
KillWait=1
NodeName=$node NodeHostname=$node NodeAddr=127.0.0.1 $shape
PartitionName=all Nodes=$node Default=YES State=UP
CONFIGURATION

# slurmd looks for a control group file system even where, as here, nothing uses one, and ends when it finds none (a chroot,
# say), unless it is told which kind there is.
printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nCgroupMountpoint=%s\n' "$work/cgroup" > "$work/cgroup.conf"
mkdir "$work/cgroup"

start munged munged --foreground --force --num-threads=1 --socket="$work/munge/socket" --key-file="$work/munge/key" \
    --log-file="$work/munge/munged.log" --pid-file="$work/munge/pid" --seed-file="$work/munge/seed"
wait_until 20 "munged does not answer" munge --socket="$work/munge/socket" --no-input
start slurmctld slurmctld -D -f "$SLURM_CONF"
wait_until 30 "slurmctld does not answer" timeout 5 scontrol ping
start slurmd slurmd -D -f "$SLURM_CONF"
idle() { [ "$(timeout 5 sinfo -h -o %T)" = idle ]; }
wait_until 60 "the node does not become idle" idle

if [ "$TENURE_TEST_APART" = yes ]; then
    echo "services run on a network of their own"
else
    echo "services run on the machine's loopback addresses"
fi

# run NAME SRUN_ARGUMENTS...
run() {
    local name=$1
    shift
    timeout 60 srun "$@" "$launched" "$work/$name" SLURM_PROCID < /dev/null || fail "srun $* ended with $?"
}

run one --cpu-bind=cores -n1 -c1
check_process "$work/one" 0 SLURM_PROCID 1
text=$(timeout 60 srun -n1 "$TENURE_INFO" < /dev/null)
grep -q 'rank 0 (SLURM_PROCID)' <<< "$text" || fail "the report for a person does not name the rank"
if [ "${#own_cores[@]}" -ge 2 ]; then
    run two --cpu-bind=cores -n2 -c1
    check_process "$work/two" 0 SLURM_PROCID 1
    check_process "$work/two" 1 SLURM_PROCID 1
    apart "$work/two" 0 1
    last=${own_cores[${#own_cores[@]} - 1]}
    run last "--cpu-bind=map_cpu:$last" -n1 "-c${#own_cores[@]}"
    check_process "$work/last" 0 SLURM_PROCID 1
    same "CPUs of map_cpu:$last" "$last" "$(query "$work/last.0.json" engines.0.cpus)"
    run both --cpu-bind=cores -n1 -c2
    check_process "$work/both" 0 SLURM_PROCID "$(($(cores_of "$(cat "$work/both.0.allowed")" | wc -l)))"
fi

# Ranks: the script of the documentation, submitted as it is, and then srun by hand. Each rank's engine is on its own core, and the picture
# is that of denoise without ranks.
ranks() { # ranks NAME REPORT
    local cpus
    cmp "$work/serial.png" "$work/$1.png" || fail "$1: the picture is not that of one process"
    same "means in the report of $1" "$(grep '^mean ' "$work/serial.out")" "$(grep '^mean ' "$2")"
    mapfile -t cpus < <(sed -n 's/^rank [01]  host .*  local [01] of 2  cpus \([0-9]*\)  .*/\1/p' "$2")
    same "ranks on a core of their own in $1" 2 "${#cpus[@]}"
    [ "${cpus[0]}" != "${cpus[1]}" ] || fail "$1: both ranks are on CPU ${cpus[0]}"
    same "workers of each engine in $1" "1 1" "$(awk '/^[01]  .* to / { print $5 }' "$2" | xargs)"
    echo "passed: $1, ranks on CPUs ${cpus[*]}"
}

ended() { # its state is known, and none of these
    local state
    state=$(timeout 5 squeue --noheader --states=all --job "$job" --format=%T) && [ -n "$state" ] &&
        ! grep -qE '^(PENDING|CONFIGURING|RUNNING|COMPLETING)$' <<< "$state"
}

if [ -z "${DENOISE_MPI:-}" ]; then
    echo "left out: denoise-mpi is not built"
elif ! grep -q 'libmpi\.so' <<< "$(ldd "$DENOISE_MPI")"; then
    echo "left out: denoise-mpi is built with another MPI than Open MPI"
elif [ "${#own_cores[@]}" -ge 2 ]; then
    "$MAKE_VOLUME" 31 29 27 "$work/volume.nii"
    "$DENOISE" "$work/volume.nii" "$work/serial.png" > "$work/serial.out"
    grep -qw pmix <<< "$(timeout 10 srun --mpi=list 2>&1)" || fail "this Slurm has no plug-in for PMIx"
    export LSAN_OPTIONS=detect_leaks=0 # MPI's, see tests/mpi/CMakeLists.txt
    export OMPI_MCA_btl=self,vader OMPI_MCA_oob_tcp_if_include=lo # ranks of one host
    job=$(DENOISE=$DENOISE_MPI VOLUME=$work/volume.nii PICTURE=$work/sbatch.png timeout 60 sbatch --parsable \
        --chdir="$work" "$here/../../docs/denoise.sbatch") || fail "sbatch ended with $?"
    wait_until 120 "job $job does not end" ended
    [ -s "$work/sbatch.png" ] || cat "$work/denoise-$job.out"
    ranks sbatch "$work/denoise-$job.out"
    same "ranks that Slurm bound" 2 "$(grep -c '^rank .*  bound by the launcher$' "$work/denoise-$job.out")"
    timeout 60 srun -n 2 --mpi=pmix "$DENOISE_MPI" "$work/volume.nii" "$work/srun.png" > "$work/srun.out" \
        < /dev/null || fail "srun ended with $?"
    ranks srun "$work/srun.out"
    # bad input: one line, and nobody waits for the others
    status=0
    timeout 60 srun -n 2 --mpi=pmix "$DENOISE_MPI" "$work/missing.nii" "$work/none.png" < /dev/null \
        > "$work/none.out" 2> "$work/none.err" || status=$?
    same "status for a missing volume" 1 "$status"
    same "lines about it" 1 "$(grep -c '^denoise-mpi: .*missing.nii: cannot be opened' "$work/none.err")"
fi

running=("${services[@]}")
stop
for service in "${running[@]}"; do
    ! kill -0 "$service" 2> /dev/null || fail "process $service is left behind"
done
