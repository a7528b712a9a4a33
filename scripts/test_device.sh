#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# test_device.sh [BUILD [RESULT]]: for a machine with an NVIDIA device, the toolkit's headers, CMake and a C and C++ compiler; needs no
# internet and no cmocka. Builds, runs the suite of label cuda on the real driver, the tests of engines and copies again under compute-sanitizer
# (memcheck with its search for leaks, racecheck, initcheck, synccheck), then tenure-bench cuda, and writes one result file. Stops itself
# before five minutes are over: what would come after is left out, and said. TENURE_DEVICE_SECONDS is that time (290).
#
# Ends with 0: all of it was run, and all is good; 1: something failed, the result file says what; 3: nothing failed, but something was left
# out or stopped, for want of time or because compute-sanitizer is not there; 77: no driver or no device, nothing was built.
# TENURE_TEST_CUDA_DRIVER names another driver than libcuda.so.1; TENURE_TEST_STANDIN=ON does without cmocka where it is, too;
# TENURE_COMPUTE_SANITIZER names the tool; TENURE_DEVICE_BUILT=ON: BUILD is there already, as the script makes it.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$source/build-device}
result=${2:-$build/device-result.txt}
driver=${TENURE_TEST_CUDA_DRIVER:-libcuda.so.1}
export TENURE_TEST_CUDA_DRIVER="$driver" TENURE_CUDA_DRIVER="$driver"
started=$(date +%s)
seconds=${TENURE_DEVICE_SECONDS:-290}
jobs=$(nproc 2> /dev/null || echo 2)

spent() { echo $(($(date +%s) - started)); }
reserve=60 # for the bench
# The seconds that a step may take: at most $1, at least 1.
most() {
    left=$((seconds - reserve - $(spent)))
    [ $left -ge 1 ] || left=1
    [ $left -le "$1" ] || left=$1
    echo "$left"
}

# ---- Is there a device? By a few lines of C that ask the driver.

compiler=$(command -v "${CC:-cc}" || command -v gcc || command -v clang || true)
if [ -z "$compiler" ]; then
    echo "test_device.sh: no C compiler: nothing was built or run"
    exit 1
fi
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
cat > "$probe/probe.c" << 'END'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int count, char **words)
{
    int (*init)(unsigned), (*devices)(int *), (*get)(int *, int), (*name)(char *, int, int), (*fact)(int *, int, int);
    int found = 0, device = 0, major = 0, minor = 0;
    char text[128] = "";
    void *library = dlopen(words[count - 1], RTLD_NOW), *function[5];
    if (library == NULL) return printf("no driver: %s\n", dlerror()), 77;
    static const char *const names[5] = {"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute"};
    for (int i = 0; i < 5; i++)
        if ((function[i] = dlsym(library, names[i])) == NULL) return printf("no driver: no %s in it\n", names[i]), 77;
    memcpy(&init, &function[0], sizeof init), memcpy(&devices, &function[1], sizeof devices);
    memcpy(&get, &function[2], sizeof get), memcpy(&name, &function[3], sizeof name), memcpy(&fact, &function[4], sizeof fact);
    int code = init(0);
    if (code == 34) return printf("no driver: the toolkit's stub\n"), 77;
    if (code == 0) code = devices(&found);
    if (code != 0 || found == 0) return printf("the driver shows %d devices (CUDA error %d)\n", found, code), 77;
    if (get(&device, 0) != 0 || name(text, sizeof text, device) != 0 || fact(&major, 75, device) != 0 || fact(&minor, 76, device) != 0)
        return printf("the driver does not describe its first device\n"), 77;
    return printf("%d%d %s\n", major, minor, text), 0;
}
END
if ! "$compiler" "$probe/probe.c" -o "$probe/probe" -ldl > "$probe/log" 2>&1; then
    echo "test_device.sh: the C compiler does not work:"
    cat "$probe/log"
    exit 1
fi
if ! sight=$("$probe/probe" "$driver"); then
    echo "test_device.sh: no device: $sight: nothing was built or run"
    exit 77
fi
capability=${sight%% *}
device=${sight#* }

# ---- Build, with what is there.

mkdir -p "$build"
: > "$result"
rm -f "$build"/*.log # of an earlier run: its figures are not this one's
failed=0
incomplete=0
say() { echo "$*" | tee -a "$result"; }
wrong() {
    say "FAILED  $*"
    failed=$((failed + 1))
}
without() {
    say "$*"
    incomplete=$((incomplete + 1))
}

say "device: $device, compute capability $capability"
say "driver: $driver$(command -v nvidia-smi > /dev/null && nvidia-smi --query-gpu=driver_version,clocks.max.sm,clocks.max.mem,memory.total --format=csv,noheader 2> /dev/null | head -n 1 | sed 's/^/, /' || true)"
say "host:   $(uname -srm), $jobs cores, $("$compiler" --version | head -n 1)"
say "date:   $(date -u +%Y-%m-%dT%H:%M:%SZ)"
say "source: $(git -C "$source" describe --always --dirty 2> /dev/null || echo unknown)"

make_programs() {
    ninja=$(command -v ninja > /dev/null && echo "-G Ninja" || true)
    printf '#include <setjmp.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <cmocka.h>\nint main(void) { return 0; }\n' > "$probe/cmocka.c"
    standin=${TENURE_TEST_STANDIN:-OFF}
    "$compiler" "$probe/cmocka.c" -o "$probe/cmocka" -lcmocka > /dev/null 2>&1 || standin=ON
    [ "$standin" = OFF ] || say "cmocka is not here: tests are run by tests/standin"
    # shellcheck disable=SC2086
    if ! cmake -S "$source" -B "$build" $ninja -DCMAKE_BUILD_TYPE=Release -DTENURE_CUDA=ON -DTENURE_MPI=OFF -DTENURE_BLIS=OFF \
        -DTENURE_TESTS=ON -DTENURE_EXAMPLES=ON -DTENURE_BENCH=ON -DTENURE_BASELINE_ONLY=ON -DTENURE_TEST_STANDIN=$standin \
        "-DTENURE_CUDA_ARCHITECTURES=${TENURE_DEVICE_ARCHITECTURES-$capability}" > "$build/configure.log" 2>&1; then
        wrong "configuring: see configure.log"
        tail -n 5 "$build/configure.log"
        exit 1
    fi
    if ! cmake --build "$build" -j "$jobs" --target tests_cuda > "$build/build.log" 2>&1; then
        wrong "building: see build.log"
        grep -E 'error|Error' "$build/build.log" | head -n 5 || true
        exit 1
    fi
}
[ "${TENURE_DEVICE_BUILT:-OFF}" = ON ] || make_programs
say "built in $(spent) s"

# ---- The suite, on this driver.

patient=no
run() { # NAME SECONDS COMMAND...: its output in NAME.log
    name=$1
    asked=$2
    limit=$(most "$asked")
    shift 2
    if [ "$(spent)" -ge $((seconds - reserve)) ]; then
        without "left out: $name: no time is left"
        return 0
    fi
    begin=$(date +%s)
    if timeout "$limit" "$@" > "$build/$name.log" 2>&1; then
        skipped=$(grep -ciE '^\[ *skipped *\]|^skipped ' "$build/$name.log" || true)
        say "good    $name, $(($(date +%s) - begin)) s$([ "$skipped" -eq 0 ] || echo ", $skipped lines of skipped tests")"
        return 0
    else
        code=$?
    fi
    case $code in
    77) say "skipped $name: $(tail -n 1 "$build/$name.log")" ;;
    124)
        if [ $patient = yes ] && grep -qE '^=+ (Invalid|Uninit|.*hazard|.*[Ee]rror)' "$build/$name.log"; then
            wrong "$name: stopped after $limit s, and found something: see $name.log"
        elif [ "$limit" -lt "$asked" ] || [ $patient = yes ]; then # for want of time, or slow under compute-sanitizer: no failure
            without "stopped $name: after $limit s, nothing was wrong so far"
        else
            wrong "$name: stopped after $limit s: see $name.log"
        fi
        ;;
    *) wrong "$name: code $code: see $name.log" ;;
    esac
}

export TENURE_BUILD_DIR="$build" TENURE_SOURCE_DIR="$source"
cd "$source"
for program in "$build"/tests/cuda/cuda_*; do
    # what compiles kernels for other devices needs none, and is part of every other run of the tests
    if [ -x "$program" ] && [ -f "$program" ] && [ "$(basename "$program")" != cuda_kernels_compile ]; then
        run "$(basename "$program")" 60 "$program"
    fi
done
run devices 30 "$build/examples/devices" 1000003
# and with kernels that are compiled when they are wanted: each module once, for all operations
run cuda_catalogue.nvrtc 90 env TENURE_CUDA_IMAGES=off "$build/tests/cuda/cuda_catalogue"

# ---- Under compute-sanitizer: fewer values, the same kernels.

sanitizer=${TENURE_COMPUTE_SANITIZER:-$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null || echo compute-sanitizer)}
checked() { # NAME TOOL OPTIONS...
    checks=$2
    program=$1
    shift 2
    run "$program.$checks" 45 "$sanitizer" --tool "$checks" "$@" --error-exitcode 9 "$build/tests/cuda/$program"
}
if ! command -v "$sanitizer" > /dev/null; then
    without "left out: memcheck, racecheck, initcheck, synccheck: there is no compute-sanitizer ($sanitizer)"
else
    export TENURE_TEST_CUDA_ROUNDS=1
    patient=yes
    for program in cuda_catalogue cuda_copies cuda_engine; do
        checked $program memcheck --leak-check full
    done
    for tool in racecheck initcheck synccheck; do
        checked cuda_catalogue $tool
    done
    patient=no
    unset TENURE_TEST_CUDA_ROUNDS
fi

# ---- The bench.

reserve=0
run tenure-bench 90 "$build/tests/bench/tenure-bench" cuda
cat "$build/tenure-bench.log" >> "$result" 2> /dev/null || true
if [ $failed -ne 0 ]; then
    verdict=FAILED
    code=1
elif [ $incomplete -ne 0 ]; then
    verdict=incomplete
    code=3
else
    verdict=complete
    code=0
fi
say "$verdict: $failed failed, $incomplete left out or stopped, $(spent) s in all; $result"
exit $code
