#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh [VOLUME.nii.gz]: build, watch storage move through the tour, then denoise a real head scan (or the volume given)
# and write a picture of it, in one process and on two ranks: the pictures are equal; then compress it by contractions, with a picture too.
# On a bare Debian 12 it installs what it needs (as root).
set -euo pipefail
start=$PWD
cd "$(dirname "$0")/.."
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
need_packages gcc libc6-dev cmake ninja-build pkg-config libblis-serial-dev libhwloc-dev zlib1g-dev libpng-dev \
    liblapack-dev openmpi-bin libopenmpi-dev

if [ $# -gt 0 ]; then
    case $1 in
    /*) volume=$1 ;;
    *) volume=$start/$1 ;;
    esac
else
    need_packages mricron-data
    volume=$(dpkg -L mricron-data | grep '/ch2\.nii\.gz$' | head -n 1)
fi

cmake --fresh --preset release -DTENURE_TESTS=OFF -DTENURE_BENCH=OFF -DTENURE_WERROR=OFF > build-demo.log 2>&1 ||
    { cat build-demo.log; exit 1; }
sed -n '/^-- tenure [0-9]/,/^  sanitize/p' build-demo.log
cmake --build build -j "${TENURE_JOBS:-2}" >> build-demo.log 2>&1 || { tail -n 40 build-demo.log; exit 1; }
mkdir -p build/demo
mv build-demo.log build/demo/demo.log

printf '\n---- what this process may use\n'
build/examples/tenure-info

printf '\n---- storage tour\n'
build/examples/storage_tour

printf '\n---- denoise %s\n' "$volume"
build/examples/denoise "$volume" build/demo/denoise.png

printf '\n---- the same on two ranks\n'
# One host: no remote shell, no network. Open MPI refuses to start as root unless it is told twice; containers run as root.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 --oversubscribe --bind-to none --mca plm isolated \
    --mca oob_tcp_if_include lo --mca btl self,vader build/examples/denoise-mpi "$volume" build/demo/denoise-mpi.png
cmp build/demo/denoise.png build/demo/denoise-mpi.png
printf 'Both pictures are equal, byte for byte.\n'

printf '\n---- compress it (higher-order SVD)\n'
build/examples/hosvd "$volume" build/demo/hosvd.png

printf '\nPictures: %s\n          %s\n' "$PWD/build/demo/denoise.png" "$PWD/build/demo/hosvd.png"
