#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Under mpirun --bind-to core each rank has an engine on its own core. Open MPI's own traffic stays on the loopback device.
set -euo pipefail
# shellcheck source=tests/scheduler/checks.sh
. "$(dirname "$0")/checks.sh"
need mpirun openmpi-bin
grep -q 'Open MPI' <<< "$(mpirun --version)" || skip "mpirun is not Open MPI's (Debian: openmpi-bin)"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks=2
[ "${#own_cores[@]}" -ge 2 ] || ranks=1
TMPDIR=$work timeout 120 mpirun --mca plm isolated --mca oob_tcp_if_include lo --mca btl self,vader --bind-to core \
    --map-by core -n "$ranks" "$launched" "$work/mpi" OMPI_COMM_WORLD_RANK < /dev/null
for ((rank = 0; rank < ranks; rank++)); do
    check_process "$work/mpi" "$rank" OMPI_COMM_WORLD_RANK 1
    same "ranks on its host" "$ranks" "$(query "$work/mpi.$rank.json" rank.ranks_on_host)"
    same "number of its workers" "one worker" "$(query "$work/mpi.$rank.json" verdict | sed 's/.*; //')"
done
[ "$ranks" -lt 2 ] || apart "$work/mpi" 0 1
