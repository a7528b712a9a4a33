#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# blocks_refuse.sh BLOCKS_SH ROOT GENERATED LIBRARY CC FLAGS [MPI_LIBRARY MPI_FLAGS LAUNCHER... | device CUDA_LIBRARY]: prove that
# blocks.sh reads what it should and can fail; with an MPI, that of blocks of ranks; with tenure::cuda, of devices.
set -eu
check=$1
root=$2
shift 2
tree=$PWD/tree
rm -rf "$tree"
mkdir -p "$tree/docs" "$tree/examples"
cp -r "$root/include" "$tree/include"
printf 'int main(void)\n{\n    int answer = 0;\n\n    return answer;\n}\n' > "$tree/examples/00_answer.c"

generated=$1
library=$2
cc=$3
flags=${4:-}
if [ $# -gt 4 ]; then
    shift 4
else
    set --
fi
expect() { # 0 or 1, text of the page, then what else blocks.sh takes
    wanted=$1
    printf '# Page\n\n%b\n' "$2" > "$tree/README.md"
    shift 2
    answer=0
    sh "$check" "$tree" "$generated" "$library" "$cc" "$flags" "$@" > said.txt 2>&1 || answer=1
    if [ $answer -ne "$wanted" ]; then
        echo "expected $wanted, found $answer for:"
        cat "$tree/README.md" said.txt
        exit 1
    fi
}
if [ $# -gt 0 ] && [ "$1" = device ]; then
    expect 0 '```c device\n#include <tenure/cuda.h>\nint main(void)\n{\n    tnr_cuda_sight sight;\n    tnr_cuda_look(NULL, &sight);\n    return sight.state == TNR_CUDA_AVAILABLE ? 0 : 1;\n}\n```' "$@"
    expect 1 '```c device\n#include <tenure/cuda.h>\nint main(void)\n{\n    tnr_cuda_sight sight;\n    tnr_cuda_look("off", &sight);\n    return sight.state == TNR_CUDA_AVAILABLE ? 0 : 1;\n}\n```' "$@"
    expect 0 '```c device step\nCHECK(tnr_cuda_engine_lane(engine) == lanes[0]);\n```\n\n```c device step\nCHECK(tnr_cuda_engine_lane(cpu) == NULL);\n```' "$@"
    expect 1 '```c device step\nCHECK(engine != NULL);\n```\n\n```c device step\nCHECK(engine == NULL);\n```' "$@"
    grep -q '^README.md:8: engine == NULL' said.txt || { echo "the failing line is not told:"; cat said.txt; exit 1; }
    expect 1 '```c device step\nCHECK(undeclared == 3);\n```' "$@"
    echo "2 good pages of devices accepted, 3 bad ones refused"
    exit 0
fi
if [ $# -gt 0 ]; then
    two='#include <tenure/mpi.h>\nint main(int argc, char **argv)\n{\n    int size;\n    MPI_Init(&argc, &argv);\n    MPI_Comm_size(MPI_COMM_WORLD, &size);\n    MPI_Finalize();\n    return size == 2 ? 0 : 1;\n}\n'
    expect 0 "\`\`\`c ranks\n$two\`\`\`" "$@"
    expect 1 "\`\`\`c ranks\n$(printf '%s' "$two" | sed 's/== 2/!= 2/')\`\`\`" "$@"
    expect 1 '```c ranks\nint main(void) { return undeclared; }\n```' "$@"
    expect 0 '```c ranks step\nCHECK(ranks == 2 && me < 2);\n```\n\n```c ranks step\nCHECK(tnr_world_barrier(world) == TNR_OK);\n```' "$@"
    expect 1 '```c ranks step\nCHECK(ranks == 2);\n```\n\n```c ranks step\nCHECK(ranks == 3);\n```' "$@"
    grep -q '^README.md:8: ranks == 3' said.txt || { echo "the failing line is not told:"; cat said.txt; exit 1; }
    expect 1 '```c ranks step\nCHECK(undeclared == 3);\n```' "$@"
    expect 1 '```c ranks step\ntnr_world_barrier(world);\n```' "$@"
    echo "2 good pages of ranks accepted, 5 bad ones refused"
    exit 0
fi
expect 0 'no block\n```sh\nnot C\n```'
expect 0 '```c\n#include <tenure/tenure.h>\nint main(void) { return tnr_check_build() == TNR_OK ? 0 : 1; }\n```'
expect 1 '```c\nint main(void) { return 1; }\n```'
expect 1 '```c\nint main(void) { return undeclared; }\n```'
expect 0 '<!-- given: tnr_view view; tnr_view out; -->\n```c fragment\nif (tnr_view_permute(&view, NULL, &out) != TNR_OK) {\n    return TNR_ERR_SHAPE;\n}\n```'
expect 1 '```c fragment\ntnr_view_permute(&view, NULL, &out);\n```'
expect 1 '<!-- given: tnr_view view; tnr_view out; -->\n\nProse.\n\n```c fragment\ntnr_view_permute(&view, NULL, &out);\n```'
expect 0 '```c declaration\ntypedef struct pair { tnr_view a; tnr_view b; } pair;\n```'
expect 1 '```c declaration\ntypedef struct pair { tnr_vue a; } pair;\n```'
expect 0 '```c examples/00_answer.c\nint answer = 0;\n\nreturn answer;\n```'
expect 0 '```c examples/00_answer.c\nint main(void)\n{\n    int answer = 0;\n```'
expect 1 '```c examples/00_answer.c\nint answer = 1;\n```'
expect 1 '```c examples/00_answer.c\nint answer = 0;\nreturn answer;\n```'
expect 1 '```c examples/01_none.c\nint answer = 0;\n```'
expect 0 '```c output\nanything\n```'
expect 0 '```c ranks step\nleft to another test\n```'
expect 0 '```c device step\nleft to another test\n```'
expect 1 '```c ranks steps\nint a;\n```'
expect 1 '```c sketch\nint a;\n```'
expect 1 '```c output\nno end'
printf '```c\nint main(void) { return 1; }\n```\n' > "$tree/docs/page.md"
expect 1 'The page in docs/ is wrong.'
printf '```c\nint main(void) { return 0; }\n```\n' > "$tree/docs/page.md"
expect 0 'The page in docs/ is good.'
echo "10 good pages accepted, 12 bad ones refused"
