#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Everything that must hold, from a bare Debian 12 (as root) or any machine that has the packages:
#   GCC, release, all tests; the tests of ranks again with MPICH; Clang, AddressSanitizer and UBSan, all tests that run code of
#   ours; Clang, ThreadSanitizer, the tests with threads; Valgrind on a few; clang-format; clang-tidy.
# The last line is the total: "N passed, N failed, N skipped". TENURE_JOBS (default 2) is how many run at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
jobs=${TENURE_JOBS:-2}
started=$SECONDS

need_packages gcc g++ libc6-dev clang clang-format clang-tidy libclang-rt-14-dev cmake ninja-build pkg-config binutils \
    libcmocka-dev libblis-serial-dev libhwloc-dev zlib1g-dev libpng-dev liblapack-dev mricron-data \
    libjemalloc-dev libmimalloc-dev valgrind \
    gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm \
    qemu-system-x86 busybox-static cpio munge slurmctld slurmd slurm-client openmpi-bin libopenmpi-dev libpmix-dev mpich libmpich-dev \
    util-linux ca-certificates git
fetch_kernel build-vm

passed=0
failed=0
skipped=0
logs=$PWD/build-logs
rm -rf "$logs"
mkdir -p "$logs"

stage() { printf '\n==== %s (%d s)\n' "$1" $((SECONDS - started)); }

# One check that is not a CTest test: check NAME COMMAND...
check() {
    local name=$1
    shift
    if "$@" > "$logs/$name.log" 2>&1; then
        echo "passed: $name"
        passed=$((passed + 1))
    else
        echo "FAILED: $name"
        tail -n 60 "$logs/$name.log"
        failed=$((failed + 1))
    fi
}

# Run CTest in a build folder and add its figures to the totals: run_tests NAME FOLDER CTEST_ARGUMENTS...
run_tests() {
    local name=$1 folder=$2 log=$logs/$1.log count bad left_out
    shift 2
    ctest --test-dir "$folder" -j "$jobs" --output-on-failure --no-tests=error "$@" > "$log" 2>&1 || true
    if ! grep -q 'tests failed out of' "$log"; then
        echo "FAILED: $name did not run"
        tail -n 40 "$log"
        failed=$((failed + 1))
        return 0
    fi
    count=$(sed -n 's/.* tests failed out of \([0-9]*\).*/\1/p' "$log" | tail -n 1)
    bad=$(sed -n 's/.*passed, \([0-9]*\) tests failed out of.*/\1/p' "$log" | tail -n 1)
    left_out=$(grep -Ec '\*\*\*(Skipped|Not Run \(Disabled\))' "$log" || true)
    echo "$name: $((count - bad - left_out)) passed, $bad failed, $left_out skipped"
    if [ "$bad" -gt 0 ]; then
        cat "$log"
    fi
    passed=$((passed + count - bad - left_out))
    failed=$((failed + bad))
    skipped=$((skipped + left_out))
}

# build NAME FOLDER PRESET COMPILERS CMAKE_ARGUMENTS...: configure afresh and build $target; a failure counts and skips what
# needs it.
target=all
build() {
    local name=$1 folder=$2 preset=$3 cc=$4 cxx=$5
    shift 5
    if CC=$cc CXX=$cxx cmake --fresh --preset "$preset" -B "$folder" "$@" > "$logs/$name-configure.log" 2>&1 &&
        cmake --build "$folder" -j "$jobs" --target "$target" > "$logs/$name-build.log" 2>&1; then
        sed -n '/^-- tenure [0-9]/,/^  sanitize/p' "$logs/$name-configure.log"
        return 0
    fi
    echo "FAILED: $name does not build"
    tail -n 40 "$logs/$name-configure.log"
    grep -E -A6 'error: |FAILED: ' "$logs/$name-build.log" 2> /dev/null | head -n 80 || true
    failed=$((failed + 1))
    return 1
}

stage "GCC, release, all tests"
if build gcc-release build release gcc g++; then
    run_tests gcc-release build
fi

stage "GCC, MPICH, tests of ranks"
# What depends on the MPI is all that matters here: the rest is compiled quickly. This MPI's ranks never yield a core that others
# wait for: more than three are for machines that have them, and so they are with sanitizers.
many_ranks='_[4-9]$'
[ "$(nproc)" -lt 8 ] || many_ranks='^$'
target=tests_mpi
if build gcc-mpich build-mpich release gcc g++ -DMPI_C_COMPILER=mpicc.mpich -DMPIEXEC_EXECUTABLE=/usr/bin/mpiexec.mpich \
    -DCMAKE_C_FLAGS_RELEASE=-O1 -DTENURE_KERNELS_O3=OFF -DTENURE_BASELINE_ONLY=ON -DTENURE_EXAMPLES=OFF -DTENURE_BENCH=OFF \
    -DTENURE_CUDA_ARCHITECTURES=; then
    run_tests gcc-mpich build-mpich -L mpi -E "$many_ranks"
fi
target=all

stage "Clang, AddressSanitizer and UndefinedBehaviorSanitizer, all tests but long ones and those of builds, installs and boards"
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
if build clang-asan build-asan asan clang clang++ -DTENURE_BENCH=OFF -DTENURE_CUDA_ARCHITECTURES=; then
    # boards have builds of their own; kernels of lower instruction sets are the same source; those of devices are compiled above
    run_tests clang-asan build-asan -LE 'install|board|slow' -E "_(baseline|x86-64-v[23])\$|^cuda_kernels_compile\$|$many_ranks"
fi

stage "Clang, ThreadSanitizer, tests with threads"
# Without BLIS: its OpenMP runtime is not built for ThreadSanitizer. Without address randomisation: this sanitizer's fixed
# map does not fit every kernel's.
target=tests_threads
if build clang-tsan build-tsan asan clang clang++ -DTENURE_SANITIZE=thread -DTENURE_BLIS=OFF -DTENURE_MPI=OFF \
    -DTENURE_BASELINE_ONLY=ON -DTENURE_EXAMPLES=OFF -DTENURE_BENCH=OFF -DTENURE_CUDA_ARCHITECTURES=; then
    if ctest --test-dir build-tsan -N -L threads | grep -q 'Total Tests: 0'; then
        echo "no test with threads"
    else
        plain=()
        if setarch -R true 2> /dev/null; then
            plain=(setarch -R)
        fi
        ctest() { command "${plain[@]}" ctest "$@"; }
        [ ${#plain[@]} -gt 0 ] || unset -f ctest
        TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 run_tests clang-tsan build-tsan -L threads
        unset -f ctest
    fi
fi
target=all

stage "Valgrind"
for name in features arena pool tensor group; do
    program=build/tests/unit/unit_$name
    if [ -x "$program" ]; then
        check "valgrind-$name" valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$program"
    fi
done

stage "clang-format"
mapfile -t sources < <(git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' 2> /dev/null | LC_ALL=C sort -u)
if [ ${#sources[@]} -eq 0 ]; then # not a git checkout: an unpacked archive
    mapfile -t sources < <(find include src tests examples -name '*.c' -o -name '*.h' -o -name '*.cpp' | LC_ALL=C sort)
fi
check clang-format clang-format --dry-run -Werror "${sources[@]}"

stage "clang-tidy"
tidy() {
    find src -name '*.c' | LC_ALL=C sort | while read -r source; do
        # only what this build compiles has an entry
        grep -q "/$source\"" build-asan/compile_commands.json && echo "$source"
    done > "$logs/tidy-files"
    [ -s "$logs/tidy-files" ] && xargs -P "$jobs" -n 4 clang-tidy -p build-asan --quiet --warnings-as-errors='*' < "$logs/tidy-files"
}
check clang-tidy tidy

stage "done"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
