#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# test_device.sh [BUILD [RESULT]]: build on a machine with a device, run the CUDA suite on the real driver, then under
# compute-sanitizer where the toolkit has it, and write one result file. Needs no internet. Without a device it says so and
# ends with 77 before anything is built.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$source/build-device}
result=${2:-$build/device-result.txt}
driver=${TENURE_TEST_CUDA_DRIVER:-libcuda.so.1}
export TENURE_TEST_CUDA_DRIVER="$driver"

if ! ldconfig -p 2> /dev/null | grep -q 'libcuda[.]so[.]1' && [ "$driver" = libcuda.so.1 ] &&
    [ -z "${LD_LIBRARY_PATH:-}" ] && ! ls /usr/lib/*/libcuda.so.1 > /dev/null 2>&1; then
    echo "test_device.sh: no driver (libcuda.so.1) on this machine: nothing was built or run"
    exit 77
fi

cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DTENURE_CUDA=ON -DTENURE_MPI=OFF -DTENURE_BENCH=OFF \
    -DTENURE_BASELINE_ONLY=ON > /dev/null
cmake --build "$build" -j "$(nproc)" --target tests/cuda/all example_devices > "$build/build.log" 2>&1 ||
    cmake --build "$build" -j "$(nproc)" > "$build/build.log" 2>&1

# A driver may be there and no device: ask the library itself.
sight=$(TENURE_CUDA_DRIVER="$driver" "$build/examples/devices" 1000 | head -n 1)
case $sight in
"devices: none"*)
    echo "test_device.sh: $sight: nothing was run"
    exit 77
    ;;
esac

failed=0
{
    echo "$sight"
    date -u +%Y-%m-%dT%H:%M:%SZ
    for program in "$build"/tests/cuda/cuda_*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        name=$(basename "$program")
        if timeout 120 "$program" > "$build/$name.log" 2>&1; then
            echo "good    $name, $(grep -c SKIPPED "$build/$name.log" || true) lines of skipped tests"
        else
            echo "FAILED  $name: see $name.log"
            failed=$((failed + 1))
        fi
    done
    sanitizer=$(command -v compute-sanitizer || true)
    if [ -z "$sanitizer" ]; then
        echo "left out: compute-sanitizer is not installed"
    else
        for tool in memcheck racecheck initcheck; do
            for name in cuda_copies cuda_rules; do
                if timeout 120 "$sanitizer" --tool $tool --error-exitcode 9 "$build/tests/cuda/$name" > "$build/$name.$tool.log" 2>&1; then
                    echo "good    $tool $name"
                else
                    echo "FAILED  $tool $name: see $name.$tool.log"
                    failed=$((failed + 1))
                fi
            done
        done
    fi
} | tee "$result"
grep -q '^FAILED' "$result" && exit 1
exit 0
