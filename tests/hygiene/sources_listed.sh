#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# sources_listed.sh ROOT: every .c file of src/ is named in CMakeLists.txt, so that none is left out of the library unseen.
set -eu
cd "${1:?usage: sources_listed.sh ROOT}"
status=0
count=0
for source in $(find src -name '*.c'); do
    count=$((count + 1))
    name=$(basename "$source")
    if ! grep -Eq "[( ]$(printf '%s' "$name" | sed 's/[.]/[.]/g')([ )]|\$)" CMakeLists.txt; then
        echo "$source is not in CMakeLists.txt"
        status=1
    fi
done
[ $count -gt 0 ] || status=1
echo "$count sources"
exit $status
