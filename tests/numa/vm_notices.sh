#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# vm_notices.sh VM_SH: vm.sh fails when a program inside fails, dies or skips, and says which; busybox plays the programs.
set -euo pipefail
work=$(mktemp -d "${TMPDIR:-/tmp}/tenure-vm-notices.XXXXXX")
trap 'rm -rf "$work"' EXIT
for line in 'fine:exit 0' 'fails:exit 3' 'dies:kill -KILL $$' 'skips:exit 77'; do
    printf '#!/bin/sh\n%s\n' "${line#*:}" > "$work/${line%%:*}"
    chmod +x "$work/${line%%:*}"
done
status=0
"$1" "$work/fine" "$work/fails" "$work/dies" "$work/skips" > "$work/output" || status=$?
cat "$work/output"
[ "$status" -ne 77 ] || exit 77
[ "$status" -eq 1 ]
for expected in 'passed: fine' 'FAILED: fails ended with 3' 'FAILED: dies ended with 137' 'skipped inside: skips'; do
    grep -qx "$expected" "$work/output" || {
        echo "expected the line: $expected"
        exit 1
    }
done
