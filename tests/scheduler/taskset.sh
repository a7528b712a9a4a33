#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Under taskset the engine is on exactly the CPUs that it was given.
set -euo pipefail
# shellcheck source=tests/scheduler/checks.sh
. "$(dirname "$0")/checks.sh"
need taskset util-linux

for core in "${own_cores[@]:0:4}"; do
    taskset -c "$core" "$launched" "$work/core-$core" ""
    check_process "$work/core-$core" 0 "" 1
    same "threads of an engine of one core that its caller is bound to" false \
        "$(query "$work/core-$core.0.json" engines.0.threads)"
done
if [ "${#own_cores[@]}" -ge 2 ]; then
    taskset -c "${own_cores[0]},${own_cores[1]}" "$launched" "$work/two" ""
    check_process "$work/two" 0 "" 2
fi
"$launched" "$work/unbound" ""
check_process "$work/unbound" 0 "" "${#own_cores[@]}"
