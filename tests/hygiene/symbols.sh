#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# symbols.sh NM SHARED STATIC HEADER...: what the libraries show to others.
#
# - the shared library exports symbols that begin with tnr_ and nothing else (no BLAS name, no tnri_ one), and at least one;
# - every global symbol that the static library defines begins with tnr_ or tnri_;
# - nothing is defined twice, and both have the same public names;
# - every function that one of the headers declares with TNR_API is there, and every one that is there is declared; but
#   tnr_provider and tnr_engine_provider, tables that the core lends to its companions, are in no public header.
# Names that sanitizers add (__odr_asan...) are passed over.
set -eu
nm=$1
shared=$2
static=$3
status=0

exported=$("$nm" -D --defined-only "$shared" | awk 'NF == 3 { print $3 }' | sed 's/@.*//' | grep -v '^__odr_asan' || true)
foreign=$(printf '%s\n' "$exported" | grep -v '^tnr_' | grep -v '^$' || true)
if [ -n "$foreign" ]; then
    echo "$shared exports names that are not ours to take:"
    printf '%s\n' "$foreign"
    status=1
fi
count=$(printf '%s\n' "$exported" | grep -c '^tnr_' || true)
if [ "$count" -eq 0 ]; then
    echo "$shared exports nothing"
    status=1
fi

defined=$("$nm" -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | grep -v '^__odr_asan' || true)
foreign=$(printf '%s\n' "$defined" | grep -Ev '^(tnr_|tnri_|$)' || true)
if [ -n "$foreign" ]; then
    echo "$static defines global names without our prefix:"
    printf '%s\n' "$foreign"
    status=1
fi
twice=$(printf '%s\n' "$defined" | LC_ALL=C sort | uniq -d)
if [ -n "$twice" ]; then
    echo "$static defines twice:"
    printf '%s\n' "$twice"
    status=1
fi

# Each public name of the archive is exported, and each exported one is in the archive.
printf '%s\n' "$exported" | LC_ALL=C sort > symbols_exported.txt
printf '%s\n' "$defined" | grep '^tnr_' | LC_ALL=C sort > symbols_defined.txt || true
if ! cmp -s symbols_exported.txt symbols_defined.txt; then
    echo "public names of the two libraries differ (a function without TNR_API?):"
    diff symbols_exported.txt symbols_defined.txt || true
    status=1
fi
shift 3
# the name stands on the line of TNR_API, right before its first bracket after the return type
sed -n 's/^TNR_API .*[ *]\(tnr_[a-z0-9_]*\)(.*/\1/p' "$@" | LC_ALL=C sort -u > symbols_declared.txt
if [ ! -s symbols_declared.txt ]; then
    echo "no function is declared in $*"
    status=1
fi
missing=$(LC_ALL=C comm -23 symbols_declared.txt symbols_exported.txt)
if [ -n "$missing" ]; then
    echo "declared, but not in the library:"
    printf '%s\n' "$missing"
    status=1
fi
secret=$(LC_ALL=C comm -13 symbols_declared.txt symbols_exported.txt | grep -vxE 'tnr_(engine_)?provider' || true)
if [ -n "$secret" ]; then
    echo "in the library, but not declared in $*:"
    printf '%s\n' "$secret"
    status=1
fi
[ $status -ne 0 ] || echo "$count exported symbols, all tnr_"
exit $status
