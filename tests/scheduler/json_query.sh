#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# json_query, on which the other tests lean, takes JSON and refuses what only looks like it.
set -euo pipefail
# shellcheck source=tests/scheduler/checks.sh
. "$(dirname "$0")/checks.sh"

printf '%s' '{"a": [1, {"b": "x\"y\u00e9"}, -2.5e3], "c": null, "d": {}}' > "$work/good"
same "values" '{3} [3] x\"y\u00e9 -2.5e3 null {0}' "$(query "$work/good" '' a a.1.b a.2 c d | tr '\n' ' ' | sed 's/ $//')"
! query "$work/good" a.7 > /dev/null 2>&1 || fail "a path that is not there was found"
for bad in '' '{"a":1,}' '{"a":1,"a":2}' '[1 2]' '[1,]' '01' '1.' '-' '"\q"' '"\u12"' '"open' '[' '{"a"}' '{a:1}' 'nul' '1 2' \
    $'"a\tb"' "'a'"; do
    printf '%s' "$bad" > "$work/bad"
    ! query "$work/bad" '' > /dev/null 2>&1 || fail "taken for JSON: $bad"
done
echo "passed: json_query"
