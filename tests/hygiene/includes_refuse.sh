#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# includes_refuse.sh INCLUDES_SH FOLDER: prove that includes.sh can fail. Plants one bad include at a time in a good little
# tree and expects exactly that line to be refused.
set -eu
check=$1
tree=$2/include_tree

good() {
    rm -rf "$tree"
    mkdir -p "$tree/include/tenure" "$tree/src/arena" "$tree/src/storage" "$tree/src/engine" "$tree/src/mpi" "$tree/src/cuda"
    printf '#include <stdint.h>\n#include "tenure/version.h"\n' > "$tree/include/tenure/status.h"
    printf '#include <string.h>\n#include "tenure/domain.h"\n' > "$tree/src/arena/base.h"
    printf '#include "base.h"\n#include "tlsf_internal.h"\n' > "$tree/src/arena/tlsf.c"
    printf '#include "../arena/arena.h"\n#include "tenure/tensor.h"\n' > "$tree/src/storage/storage.h"
    printf '#include <blis.h>\n#include "../storage/storage.h"\n' > "$tree/src/engine/product_blis.c"
    printf '#include <mpi.h>\n#include "storage/storage.h"\n#include "../storage/provider.h"\n' > "$tree/src/mpi/world.c"
    printf '#include "storage.h"\n' > "$tree/src/storage/provider.h"
    printf '#include <mpi.h>\n#include "tenure/machine.h"\n' > "$tree/include/tenure/mpi.h"
}

good
sh "$check" "$tree"
planted=0
plant() { # file, line
    good
    printf '%s\n' "$2" >> "$tree/$1"
    number=$(($(wc -l < "$tree/$1")))
    if answer=$(sh "$check" "$tree"); then
        echo "accepted in $1: $2"
        exit 1
    fi
    case $answer in
    "$1:$number: "*) planted=$((planted + 1)) ;;
    *)
        echo "refused something else than $1:$number: $answer"
        exit 1
        ;;
    esac
}
plant src/arena/tlsf.c '#include "../storage/storage.h"'
plant src/arena/tlsf.c '#include "storage/storage.h"'
plant src/arena/tlsf.c '#  include "tenure/tensor.h"'
plant src/arena/tlsf.c '#include "tenure/tenure.h"'
plant src/arena/base.h '#include "../engine/engine.h"'
plant src/storage/storage.h '#include "../engine/engine.h"'
plant src/storage/storage.h '#include "../arena/tlsf_internal.h"'
plant src/storage/storage.h '#include "arena/poison.inl.h"'
plant src/storage/storage.h '#include "tenure/tenure.h"'
plant src/storage/storage.h '#include <blis.h>'
plant src/storage/storage.h '#include "copy.c"'
plant src/arena/tlsf.c '#include "features_config.h"'
plant src/arena/tlsf.c '#include <hwloc.h>'
plant src/engine/product_blis.c '#include "../mpi/mpi_internal.h"'
plant src/engine/product_blis.c '#include <mpi.h>'
plant src/engine/product_blis.c '#include "tenure/mpi.h"'
plant src/mpi/world.c '#include "../cuda/driver.h"'
plant src/mpi/world.c '#include "../storage/group_internal.h"'
plant include/tenure/status.h '#include <mpi.h>'
plant include/tenure/mpi.h '#include "tenure/cuda.h"'
plant include/tenure/mpi.h '#include <string.h>'
plant src/mpi/world.c '#include "tenure/cuda.h"'
plant include/tenure/status.h '#include "tenure/dtype_internal.h"'
plant include/tenure/status.h '#include "tenure/view.h"'
plant include/tenure/status.h '#include <stdatomic.h>'
plant include/tenure/status.h '#include "../../src/arena/base.h"'
good
mkdir -p "$tree/src/helpers"
echo > "$tree/src/helpers/util.c"
if sh "$check" "$tree" > "$tree/answer"; then
    echo "accepted a room that does not exist"
    exit 1
fi
echo "$planted planted includes refused, and one room"
