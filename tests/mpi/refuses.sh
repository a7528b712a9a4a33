#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# refuses.sh TEXT LAUNCHER...: the job ends with exit code 1, and says what was wrong exactly once, in a line that begins with TEXT.
text=$1
shift
answer=0
said=$("$@" 2>&1) || answer=$?
lines=$(printf '%s\n' "$said" | grep -c "^$text")
if [ "$answer" -ne 1 ] || [ "$lines" -ne 1 ]; then
    printf 'exit code %s, %s lines begin with "%s":\n%s\n' "$answer" "$lines" "$text" "$said"
    exit 1
fi
