#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# headers.sh CC CXX INCLUDE GENERATED [MPI_INCLUDE...]: (BI-04) each public header alone, and twice, as C11 and as C++17, every
# warning an error, and with every other compiler of gcc, g++, clang, clang++ that is there. One-line programs in the current
# folder. MPI_INCLUDE: folders where <mpi.h> is found; without any, mpi.h is left out, and the answer says so.
set -eu
cc=$1
cxx=$2
include=$3
generated=$4
shift 4
mpi=
for folder in "$@"; do
    mpi="$mpi -isystem $folder"
done
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror -pedantic-errors"
done=0

try() { # compiler, language, standard, more flags
    [ -n "$1" ] && command -v "$1" > /dev/null 2>&1 || return 0
    for header in "$include"/tenure/*.h "$generated"/tenure/*.h; do
        name=tenure/$(basename "$header")
        needs=
        if [ "$name" = tenure/mpi.h ]; then
            [ -n "$mpi" ] || continue
            needs=$mpi
        fi
        printf '#include "%s"\n#include "%s"\nextern int one_line;\nint one_line = 1;\n' "$name" "$name" > alone.$2
        # shellcheck disable=SC2086
        if ! "$1" -x $4 -std=$3 $warnings $5 $needs -I"$include" -I"$generated" -fsyntax-only alone.$2; then
            echo "$name does not compile alone: $1 -std=$3"
            exit 1
        fi
        done=$((done + 1))
    done
}
for compiler in $(printf '%s\n' "$cc" gcc clang | awk '!seen[$0]++'); do
    try "$compiler" c c11 c "-Wstrict-prototypes -Wmissing-prototypes -Wc++-compat"
done
for compiler in $(printf '%s\n' "$cxx" g++ clang++ | awk '!seen[$0]++'); do
    try "$compiler" cpp c++17 c++ "-Wold-style-cast"
done
if [ $done -eq 0 ]; then
    echo "no compiler, no header checked"
    exit 1
fi
printf 'int one_line(void) { return undeclared; }\n' > alone.c
if "$cc" -x c -std=c11 -fsyntax-only alone.c 2> /dev/null; then
    echo "$cc accepts anything: this check is worth nothing"
    exit 1
fi
[ -n "$mpi" ] || echo "left out: tenure/mpi.h, for MPI is not built"
echo "$done times a header compiled alone"
