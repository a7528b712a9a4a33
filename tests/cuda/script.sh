#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# script.sh SOURCE FAKE: how scripts/test_device.sh ends, and what stands in its result, on the fake driver and with programs and a
# compute-sanitizer that are played by the shell. In the current folder.
# shellcheck disable=SC2016 # what is played expands when it runs
set -eu
source=$1
export TENURE_TEST_CUDA_DRIVER="$2" TENURE_DEVICE_BUILT=ON
wrong=0

play() { # FILE COMMANDS
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\n%s\n' "$2" > "$1"
    chmod +x "$1"
}
# A build folder where all is well, with what an earlier run left there.
fresh() {
    rm -rf device
    play device/tests/cuda/cuda_catalogue 'test "$TENURE_TEST_CUDA_DRIVER" != ""'
    play device/tests/cuda/cuda_copies 'exit 0'
    play device/tests/cuda/cuda_engine 'exit 0'
    play device/examples/devices 'exit 0'
    play device/tests/bench/tenure-bench 'echo "row of today"'
    play device/sanitizer 'shift; echo "as $*"; while [ "${1#/}" = "$1" ]; do shift; done; exec "$@"'
    echo "row of yesterday" > device/tenure-bench.log
    export TENURE_COMPUTE_SANITIZER="$PWD/device/sanitizer"
    unset TENURE_DEVICE_SECONDS
}
# CODE WORDS: the script ends with this code, its last line begins so, and the result is this run's.
expect() {
    sh "$source/scripts/test_device.sh" "$PWD/device" > said.txt 2>&1 && code=0 || code=$?
    if [ "$code" -ne "$1" ] || ! tail -n 1 said.txt | grep -q "^$2" || grep -q yesterday device/device-result.txt; then
        echo "NOT SO: code $1, \"$2\" at last, and nothing of yesterday; but code $code and"
        cat said.txt
        wrong=1
    fi
}
says() {
    grep -q -e "$1" device/device-result.txt && return
    echo "NOT SO: the result has \"$1\":"
    cat device/device-result.txt
    wrong=1
}

fresh
expect 0 "complete: 0 failed, 0 left out"
says "row of today"
for tool in memcheck racecheck initcheck synccheck; do
    says "good    cuda_catalogue.$tool"
done
says "good    cuda_catalogue.nvrtc"
grep -q -e "as memcheck --leak-check full " device/cuda_catalogue.memcheck.log || wrong=1

fresh # no time at all: what is left out is no success
export TENURE_DEVICE_SECONDS=0
expect 3 "incomplete: 0 failed, "
says "left out: cuda_catalogue: no time"
says "left out: tenure-bench: no time"

fresh # no compute-sanitizer
export TENURE_COMPUTE_SANITIZER="$PWD/device/none"
expect 3 "incomplete: 0 failed, 1 left out"
says "left out: memcheck, racecheck, initcheck, synccheck"

fresh # one is stopped when the time is over, and what comes after it is left out
play device/tests/cuda/cuda_copies 'sleep 60'
export TENURE_DEVICE_SECONDS=64
expect 3 "incomplete: 0 failed, "
says "stopped cuda_copies: "
says "left out: devices: no time"
says "row of today"

fresh # a failure is one, whatever was left out
play device/tests/cuda/cuda_copies 'exit 1'
export TENURE_COMPUTE_SANITIZER="$PWD/device/none"
expect 1 "FAILED: 1 failed, 1 left out"
says "FAILED  cuda_copies: code 1"

fresh # and so is what compute-sanitizer finds, also where it is stopped
play device/sanitizer 'echo "========= Invalid __global__ read of size 4 bytes"; sleep 60'
export TENURE_DEVICE_SECONDS=64
expect 1 "FAILED: 1 failed, "
says "FAILED  cuda_catalogue.memcheck: stopped after"

fresh
play device/sanitizer 'exit 9'
expect 1 "FAILED: 6 failed, 0 left out"

exit $wrong
