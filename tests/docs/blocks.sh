#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# blocks.sh ROOT GENERATED LIBRARY CC FLAGS: every C block of README.md and docs/*.md is true.
# blocks.sh ROOT GENERATED LIBRARY CC FLAGS MPI_LIBRARY MPI_FLAGS LAUNCHER...: the blocks of ranks, which the first form leaves out.
# blocks.sh ROOT GENERATED LIBRARY CC FLAGS device CUDA_LIBRARY: the blocks of devices, likewise, on the driver that the environment names.
#
# What follows ``` says what the block is:
#   ```c                     a complete program: compiled with all warnings as errors, linked, run; must end with 0
#   ```c fragment            statements: compiled inside a function that returns tnr_status, after the declarations of a
#                            comment right above, if there is one:  <!-- given: tnr_tensor *a; tnr_engine *engine; -->
#   ```c declaration         file scope: compiled after #include "tenure/tenure.h"
#   ```c examples/NAME.c     a quotation: its lines stand together in that file, word for word (a common indent aside)
#   ```c output              not C at all: shown, not compiled
#   ```c ranks               a complete program of ranks: compiled as above, run by LAUNCHER; must end with 0
#   ```c ranks step          statements: those of a page are compiled into one program, each block a function, and run in order on the
#                            same ranks. They see heap, engine, world, me (this rank), ranks (how many), and CHECK(condition)
#   ```c device              a complete program with tenure::cuda; must end with 0
#   ```c device step         statements, as those of ranks: they see heap, device, lanes[2], memory (of the device), pinned, engine (of the device,
#                            in lanes[0]), cpu (an engine of CPUs), and CHECK(condition)
# Another word after ```c is an error, so that no block goes unread. Fragments and declarations see tenure.h, string.h,
# stdio.h, stdlib.h.
set -eu
root=$1
generated=$2
library=$3
cc=$4
flags=${5:-}
part=core
extra_library=
extra_flags=
if [ $# -gt 5 ]; then
    part=ranks
    extra_library=$6
    extra_flags=$7
    if [ "$6" = device ]; then
        part=device
        extra_library=$7
        extra_flags=
    fi
    shift 7
fi
strict="-std=c11 -Wall -Wextra -Wpedantic -Werror -I$root/include -I$generated/include"
work=$PWD/blocks
rm -rf "$work"
mkdir -p "$work"

# One file per block: number.kind, and a line "number kind file:line argument" in the list.
extract() {
    awk -v work="$work" -v name="$2" -v first="$3" '
        /^[ \t]*<!-- given:/ && !inside {
            given = $0
            sub(/^[ \t]*<!-- given:[ \t]*/, "", given)
            while (given !~ /-->/ && (getline line) > 0) given = given "\n" line
            sub(/[ \t]*-->.*$/, "", given)
            next
        }
        /^[ \t]*```/ {
            if (!inside) {
                inside = 1
                info = $0
                sub(/^[ \t]*```[ \t]*/, "", info)
                sub(/[ \t]+$/, "", info)
                isc = info ~ /^[cC]([ \t]|$)/
                what = info
                sub(/^[cC][ \t]*/, "", what)
                if (isc) {
                    number = first + count++
                    kind = what == "" ? "program" : what == "fragment" || what == "declaration" || what == "output" || what == "ranks" || what == "device" ? what : what == "ranks step" ? "ranks-step" : what == "device step" ? "device-step" : what ~ /^examples\/[a-zA-Z0-9_\/]+\.[ch]$/ ? "quote" : "unknown"
                    file = work "/" number ".body"
                    printf "" > file
                    printf "%s", given > (work "/" number ".given")
                    close(work "/" number ".given")
                    print number, kind, name ":" NR, (what == "" ? "-" : what) >> (work "/list")
                }
            } else {
                inside = 0
                if (isc) close(file)
                given = ""
                isc = 0
            }
            next
        }
        inside && isc { print > file; next }
        !inside && /[^ \t]/ { given = "" }
        END { if (inside) print "0 unknown " name ":" NR " block-without-end" >> (work "/list") }
    ' "$1"
}

: > "$work/list"
for page in "$root"/README.md "$root"/docs/*.md; do
    [ -f "$page" ] || continue
    extract "$page" "${page#"$root"/}" "$(($(wc -l < "$work/list") + 1))"
done

failed=0
complain() {
    echo "$1: $2"
    [ ! -s "$work/answer" ] || head -n 12 "$work/answer"
    failed=$((failed + 1))
}
preamble='#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include "tenure/tenure.h"\n'

# Compile a program of ranks or devices and run it. Where it stands, its name without .c, the launcher.
run_with() {
    place=$1
    program=$2
    shift 2
    # shellcheck disable=SC2086
    if ! $cc $flags $strict "$program.c" -o "$program" "$extra_library" "$library" $extra_flags -lm "-Wl,-rpath,$(dirname "$library")" > "$work/answer" 2>&1; then
        complain "$place" "does not compile"
    elif ! (cd "$work" && "$@" "$program" > answer 2>&1); then
        complain "$place" "does not end with 0"
    fi
}

# The steps of a page, as one program that says where a step fails.
write_steps() { # page
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <tenure/tenure.h>\n'
    if [ $part = device ]; then
        device_head
    else
        ranks_head
    fi
    calls=
    while read -r number kind where argument; do
        if [ "$kind" != $part-step ] || [ "${where%:*}" != "$1" ]; then
            continue
        fi
        printf 'static void step_%s(void)\n{\n#line %s "%s"\n' "$number" "$((${where##*:} + 1))" "$1"
        cat "$work/$number.body"
        printf '}\n'
        calls="$calls    step_$number();\n    CHECK($between == TNR_OK);\n"
    done < "$work/list"
    if [ $part = device ]; then
        device_main
    else
        ranks_main
    fi
}

between='tnr_check_build()'
[ $part = core ] || [ $part = device ] || between='tnr_world_barrier(world)'

ranks_head() {
    cat << 'END'
#include <tenure/mpi.h>
#define CHECK(condition)                                                                               \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, tnr_last_error());      \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                              \
        }                                                                                              \
    } while (0)
static tnr_domain *heap;
static tnr_engine *engine;
static tnr_world *world;
static int me, ranks;
END
}

ranks_main() {
    cat << 'END'
#line 1 "main"
int main(int argc, char **argv)
{
    int granted;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &granted);
    CHECK(tnr_heap_create(&heap) == TNR_OK);
    CHECK(tnr_engine_create(heap, NULL, &engine) == TNR_OK);
    CHECK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world) == TNR_OK);
    me = tnr_world_rank(world);
    ranks = tnr_world_size(world);
END
    printf '%b' "$calls"
    cat << 'END'
    CHECK(tnr_world_destroy(&world) == TNR_OK);
    CHECK(tnr_engine_destroy(&engine) == TNR_OK);
    MPI_Finalize();
    return 0;
}
END
}

device_head() {
    cat << 'END'
#include <tenure/cuda.h>
#define CHECK(condition)                                                                               \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, tnr_last_error());      \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)
static tnr_domain *heap, *memory, *pinned;
static tnr_cuda_device *device;
static tnr_cuda_lane *lanes[2];
static tnr_engine *engine, *cpu;
END
}

device_main() {
    cat << 'END'
#line 1 "main"
int main(void)
{
    CHECK(tnr_heap_create(&heap) == TNR_OK);
    CHECK(tnr_engine_create(heap, NULL, &cpu) == TNR_OK);
    CHECK(tnr_cuda_device_open(heap, NULL, &device) == TNR_OK);
    lanes[0] = tnr_cuda_device_lane(device, 0);
    lanes[1] = tnr_cuda_device_lane(device, 1);
    CHECK(tnr_cuda_domain_create(device, TNR_CUDA_POOL, NULL, &memory) == TNR_OK);
    CHECK(tnr_cuda_domain_create(device, TNR_CUDA_PINNED, NULL, &pinned) == TNR_OK);
    CHECK(tnr_cuda_engine_create(heap, lanes[0], NULL, &engine) == TNR_OK);
END
    printf '%b' "$calls"
    cat << 'END'
    CHECK(tnr_engine_destroy(&engine) == TNR_OK && tnr_engine_destroy(&cpu) == TNR_OK);
    CHECK(tnr_domain_close(&memory) == TNR_OK && tnr_domain_close(&pinned) == TNR_OK);
    CHECK(tnr_cuda_device_close(&device) == TNR_OK && tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
END
}

elsewhere=0 # blocks of ranks and of devices
here=0
while read -r number kind where argument; do
    body=$work/$number.body
    : > "$work/answer"
    case $kind in
    ranks | ranks-step | device | device-step) elsewhere=$((elsewhere + 1)) ;;
    *) [ $part = core ] || continue ;;
    esac
    case $kind in "$part" | "$part-step") here=$((here + 1)) ;; esac
    case $kind in
    ranks | device)
        if [ $part = "$kind" ]; then
            cp "$body" "$work/$number.c"
            run_with "$where" "$work/$number" "$@" < /dev/null
        fi
        ;;
    ranks-step | device-step) ;; # below, by page
    program)
        cp "$body" "$work/$number.c"
        # shellcheck disable=SC2086
        if ! $cc $flags $strict "$work/$number.c" -o "$work/$number" "$library" -lm "-Wl,-rpath,$(dirname "$library")" > "$work/answer" 2>&1; then
            complain "$where" "does not compile"
        elif ! (cd "$work" && "./$number" > answer 2>&1); then
            complain "$where" "does not end with 0"
        fi
        ;;
    fragment)
        {
            # shellcheck disable=SC2059
            printf "$preamble"
            echo 'extern tnr_status fragment(void);'
            echo 'static tnr_status run(void);'
            printf '/* given */\n'
            # Declarations get static storage, so that nothing counts as uninitialised.
            tr '\n' ' ' < "$work/$number.given" | sed 's/;[ \t]*/;\n/g' | sed -n 's/^[ \t]*\([^ \t].*\)$/static \1/p'
            echo 'static tnr_status run(void)'
            echo '{'
            cat "$body"
            echo '    return TNR_OK;'
            echo '}'
            echo 'tnr_status fragment(void) { return run(); }'
        } > "$work/$number.c"
        # shellcheck disable=SC2086
        $cc $strict -Wno-unused -Wno-unused-result -fsyntax-only "$work/$number.c" > "$work/answer" 2>&1 || complain "$where" "fragment does not compile"
        ;;
    declaration)
        # shellcheck disable=SC2059
        { printf "$preamble"; cat "$body"; } > "$work/$number.c"
        # shellcheck disable=SC2086
        $cc $strict -Wno-unused -fsyntax-only "$work/$number.c" > "$work/answer" 2>&1 || complain "$where" "declaration does not compile"
        ;;
    quote)
        if [ ! -f "$root/$argument" ]; then
            complain "$where" "quotes $argument, which does not exist"
        elif ! awk '
            NR == FNR { quote[NR] = $0; n = NR; next }
            { text[FNR] = $0; m = FNR }
            END {
                if (n == 0) exit 1
                for (k = 0; k + n <= m; k++) {
                    at = index(text[k + 1], quote[1])
                    if (at == 0 || substr(text[k + 1], at) != quote[1]) continue
                    indent = substr(text[k + 1], 1, at - 1)
                    if (indent !~ /^ *$/) continue
                    same = 1
                    for (i = 1; i <= n && same; i++)
                        same = text[k + i] == indent quote[i] || (text[k + i] == "" && quote[i] == "")
                    if (same) exit 0
                }
                exit 1
            }' "$body" "$root/$argument"; then
            complain "$where" "is not what stands in $argument"
        fi
        ;;
    output) ;;
    *) complain "$where" "a C block of no known kind: $argument" ;;
    esac
done < "$work/list"

total=$(wc -l < "$work/list")
if [ $part = core ]; then
    echo "$((total - elsewhere)) C blocks, $failed of them wrong; other tests run $elsewhere blocks of ranks and of devices"
else
    awk -v kind=$part-step '$2 == kind { sub(/:[0-9]*$/, "", $3); print $3 }' "$work/list" | sort -u > "$work/pages"
    while read -r page; do
        : > "$work/answer"
        write_steps "$page" > "$work/steps.c"
        run_with "$page" "$work/steps" "$@" < /dev/null
    done < "$work/pages"
    echo "$here C blocks of the kind $part, $failed programs of them wrong"
fi
[ "$failed" -eq 0 ]
