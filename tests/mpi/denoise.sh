#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# denoise.sh same|refuses [OPTION] -- LAUNCHER...: runs denoise-mpi (OPTION, say --no-shared, before its others) under a launcher with its
# words. same: figures, picture and voxels are those of denoise, bit for bit, on volumes of odd sizes, on ones with fewer planes than there
# are ranks, and on one whose axes are turned. refuses: bad options, volumes and outputs are one line, exit code 1 on every rank, and leave
# no file. Wants DENOISE, DENOISE_MPI and MAKE_VOLUME (programs).
set -euo pipefail
: "${DENOISE:?}" "${DENOISE_MPI:?}" "${MAKE_VOLUME:?}"
what=$1
shift
options=()
while [ "$1" != -- ]; do
    options+=("$1")
    shift
done
shift
launch=("$@")
work=$(mktemp -d "${TMPDIR:-/tmp}/tenure-denoise.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $1"
    cat "$work/out" "$work/err" 2> /dev/null || true
    exit 1
}

same() { # same NX NY NZ [turned] [OPTION...]
    local name="$1 x $2 x $3" volume=$work/volume.nii
    local words=("$1" "$2" "$3" "$volume")
    shift 3
    if [ "${1:-}" = turned ]; then
        words+=(turned)
        shift
    fi
    "$MAKE_VOLUME" "${words[@]}"
    "$DENOISE" "$@" --voxels "$work/serial.voxels" "$volume" "$work/serial.png" > "$work/serial.out"
    "${launch[@]}" "$DENOISE_MPI" "${options[@]}" "$@" --voxels "$work/voxels" "$volume" "$work/picture.png" \
        > "$work/out" 2> "$work/err" < /dev/null || fail "$name ended with $?"
    cmp "$work/serial.voxels" "$work/voxels" || fail "voxels of $name"
    cmp "$work/serial.png" "$work/picture.png" || fail "picture of $name"
    # all that does not tell of time, ranks and paths
    figures() { grep -E '^(input|voxels  |steps|mean|min|max|  left to right|  top to bottom) ' "$1"; }
    diff <(figures "$work/serial.out") <(figures "$work/out") || fail "figures of $name"
    [ "$(figures "$work/out" | wc -l)" -eq 8 ] || fail "the report of $name lacks lines"
    # the steps made no tensor and took no block: columns 8 and 9 of each rank's line
    awk '/^rank  / { table = 1; next } /^picture/ { table = 0 } table { lines++; bad += $(NF - 1) != 0 || $(NF - 2) != 0 }
        END { exit !(lines > 0 && bad == 0) }' "$work/out" || fail "steps of $name make tensors or take blocks"
    echo "passed: $name"
}

refused() { # refused TEXT WORD...
    local text=$1 line ranks
    shift
    rm -f "$work/picture.png" "$work/voxels"
    # a shell per rank tells its code, and ends well: launchers have much to say of ranks that do not
    "${launch[@]}" bash -c '"$@"; echo "code $?" >&2' sh "$DENOISE_MPI" "$@" > "$work/out" 2> "$work/err" < /dev/null ||
        fail "the launcher ended with $?"
    line=$(grep -v '^code ' "$work/err" || true)
    case $line in
    "denoise-mpi: "*"$text"*) ;;
    *) fail "expected '$text'" ;;
    esac
    [ "$(wc -l <<< "$line")" -eq 1 ] || fail "more than one line"
    [ ! -s "$work/out" ] || fail "something on standard output"
    ranks=$(grep -c '^code 1$' "$work/err")
    [ "$ranks" -ge 2 ] && [ "$ranks" -eq "$(grep -c '^code ' "$work/err")" ] || fail "codes of the ranks"
    [ ! -e "$work/picture.png" ] && [ ! -e "$work/voxels" ] || fail "a file is left"
    echo "passed: $text"
}

case $what in
same)
    same 31 17 13
    same 9 8 7 turned --steps 25 --kappa 60
    same 13 3 8 --steps=3 --dt 0.05
    same 1 9 2
    same 5 7 1 turned
    same 1 1 3
    same 1 1 1
    ;;
refuses)
    volume=$work/volume.nii
    "$MAKE_VOLUME" 6 5 4 "$volume"
    picture=$work/picture.png
    refused "needs an input and an output"
    refused "--steps: \"0\"" --steps 0 "$volume" "$picture"
    refused "unknown option --colour" --colour "$volume" "$picture"
    refused "cannot be opened" "$work/missing.nii" "$picture"
    refused "cannot be written" "$volume" "$work/no/such/picture.png"
    refused "replace the input" "$volume" "$volume"
    refused "kappa must be positive" --kappa 1e-200 "$volume" "$picture"
    refused "cannot be written" --voxels "$work/no/such/voxels" "$volume" "$picture"
    if [ -c /dev/full ]; then
        refused "cannot be written" --voxels "$work/voxels" "$volume" /dev/full
        refused "cannot be written" --voxels /dev/full "$volume" "$picture"
    fi
    head -c 500 "$volume" > "$work/cut.nii"
    refused "truncated" "$work/cut.nii" "$picture"
    "${launch[@]}" "$DENOISE_MPI" --help > "$work/out" 2> "$work/err" < /dev/null || fail "--help ended with $?"
    [ "$(grep -c '^usage: ' "$work/out")" -eq 1 ] || fail "--help"
    ;;
esac
