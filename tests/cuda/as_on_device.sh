#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# as_on_device.sh DRIVER PROGRAM...: test programs on a driver that they do not know for the fake: what they do and leave out where there is
# a device. It compiles, and it has a cuBLAS. Fails when one of them does.
set -u
export TENURE_TEST_CUDA_DRIVER="$1" TENURE_NVRTC="$1" TENURE_CUBLAS="$1" TENURE_CUDA_IMAGES=off
shift
failed=0
for program in "$@"; do
    echo "---- $program"
    "$program" || failed=1
done
exit $failed
