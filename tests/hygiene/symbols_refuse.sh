#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# symbols_refuse.sh SYMBOLS_SH CC AR NM: prove that symbols.sh can fail, on little libraries built here.
set -eu
check=$1
cc=$2
ar=$3
nm=$4

mkdir -p tenure
printf 'TNR_API int tnr_one(void);\n' > tenure/tiny.h

try() { # expected status, source
    printf '%s\n' "$2" > tiny.c
    "$cc" -fPIC -c tiny.c -o tiny.o
    "$cc" -shared tiny.o -o libtiny.so
    rm -f libtiny.a
    "$ar" rc libtiny.a tiny.o
    answer=0
    sh "$check" "$nm" "$PWD/libtiny.so" "$PWD/libtiny.a" "$PWD/tenure/tiny.h" > answer.txt || answer=1
    if [ $answer -ne "$1" ]; then
        echo "expected $1, found $answer for: $2"
        cat answer.txt
        exit 1
    fi
}
hidden='__attribute__((visibility("hidden")))'
try 0 "int tnr_one(void) { return 1; } const int tnr_provider = 1;"
try 0 "int tnr_one(void) { return 1; } $hidden int tnri_two(void) { return 2; } static int three; $hidden int *tnri_three(void) { return &three; }"
try 1 "int tnr_one(void) { return 1; } int tnri_two(void) { return 2; }"
try 1 "int tnr_one(void) { return 1; } int dgemm_(void) { return 2; }"
try 1 "int tnr_one(void) { return 1; } $hidden int helper(void) { return 2; }"
try 1 "int tnr_one(void) { return 1; } int common;"
try 1 "int tnr_one(void) { return 1; } $hidden int tnr_two(void) { return 2; }"
try 1 "$hidden int tnri_one(void) { return 1; }"
try 1 "int tnr_two(void) { return 1; }"
try 1 "int tnr_one(void) { return 1; } int tnr_two(void) { return 2; }"
echo "good accepted twice, bad refused eight times"
