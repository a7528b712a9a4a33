#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# record.sh NAME RANK_VARIABLE: what a launcher started writes down (checks.sh). Without a variable the rank is 0.
set -eu
rank=0
[ -z "$2" ] || eval "rank=\$$2"
sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$$/status" > "$1.$rank.allowed"
exec "$TENURE_INFO" --json > "$1.$rank.json"
