#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# includes.sh ROOT: refuse includes against the arrows of the house.
#
#   arena <- storage <- engine <- {cuda, mpi}; cuda and mpi do not know each other
#
# - a file in src/ includes its own folder, its room header's equals below (arena/base.h, arena/arena.h, storage/storage.h,
#   storage/{provider,stream}.h, engine/device.h, each only by its own and upper rooms), and public headers of its own and lower rooms;
# - *_internal.h, *.inl.h and *.tmpl.h are private to their folder, and .c files are nobody's to include;
# - a library's header is included where its wrapper lives: blis.h in engine/product_blis.c,
#   sleef.h in engine/kernels/vector_math_sleef.inl.h, hwloc.h in arena/{features_hwloc,topology_hwloc}.c, mpi.h in src/mpi, cuda headers in src/cuda;
# - public headers include public headers of their own and lower rooms, and <stdbool.h>, <stddef.h>, <stdint.h>.
#
# Prints one line per offence; exit status 1 when there is any, 2 when ROOT has nothing to check.
set -eu
root=${1:?usage: includes.sh ROOT}
cd "$root"
files=$(find include src -type f \( -name '*.c' -o -name '*.h' -o -name '*.h.in' -o -name '*.cu' \) | LC_ALL=C sort)
if [ -z "$files" ]; then
    echo "includes.sh: no source under $root" >&2
    exit 2
fi
# shellcheck disable=SC2086 # names of ours have no blanks
awk '
function level(room) {
    return room == "arena" ? 1 : room == "storage" ? 2 : room == "engine" ? 3 : room == "mpi" || room == "cuda" ? 4 : 0
}
# Room that a public header belongs to; tenure.h is all of them.
function public_room(name) {
    if (name ~ /^(version|status|features|dtype|domain|topology)\.h$/) return "arena"
    if (name ~ /^(view|tensor|ticket|group|build|interchange)\.h$/) return "storage"
    if (name ~ /^(engine|elementwise|reduction|structure|product|einsum|contract|machine|plan|tenure)\.h$/) return "engine"
    if (name == "mpi.h") return "mpi"
    if (name == "cuda.h") return "cuda"
    return ""
}
function offence(why) { printf "%s:%d: %s: %s\n", FILENAME, FNR, included, why; bad = 1 }
function upward(from, to) {
    if (level(to) > level(from)) return 1
    return level(to) == 4 && to != from
}
function public_include(room,    to) {
    to = public_room(substr(included, 8))
    if (to == "") offence("no public header that this check knows; add it to its room")
    else if (included == "tenure/tenure.h" && !public_file) offence("the umbrella is for programs; include what is needed")
    else if (upward(room, to) ) offence("arrow from " room " up to " to)
}
# Path of a quoted include relative to the root, "." and ".." taken out.
function resolve(folder, name,    parts, n, i, out, depth) {
    n = split(folder "/" name, parts, "/")
    depth = 0
    for (i = 1; i <= n; i++) {
        if (parts[i] == "" || parts[i] == ".") continue
        if (parts[i] == "..") { if (depth > 0) depth--; continue }
        stack[++depth] = parts[i]
    }
    out = ""
    for (i = 1; i <= depth; i++) out = out (i > 1 ? "/" : "") stack[i]
    return out
}
FNR == 1 {
    folder = FILENAME
    sub(/\/[^\/]*$/, "", folder)
    split(FILENAME, piece, "/")
    public_file = piece[1] == "include"
    if (public_file) {
        base = piece[3]
        sub(/\.in$/, "", base)
        room = public_room(base)
        included = FILENAME
        if (room == "") offence("unknown public header; add it to its room in includes.sh")
    } else {
        room = piece[2]
        included = FILENAME
        if (level(room) == 0) offence("unknown room src/" room)
    }
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    system_header = $0 ~ /include[ \t]*</
    included = $0
    sub(/^[^"<]*["<]/, "", included)
    sub(/[">].*$/, "", included)
    if (included ~ /^tenure\//) { public_include(room); next }
    if (public_file) {
        if (included == "mpi.h" && room == "mpi") next
        if (!system_header || included !~ /^(stdbool|stddef|stdint)\.h$/) offence("not for a public header")
        next
    }
    if (included ~ /(^|\/)blis\.h$/ || included ~ /(^|\/)cblas\.h$/) {
        if (FILENAME !~ /^src\/engine\/product_blis\.c$/) offence("BLIS is reached through product_blis.c alone")
        next
    }
    if (included ~ /^hwloc(\/|\.h$)/) {
        if (FILENAME !~ /^src\/arena\/(features_hwloc|topology_hwloc)\.c$/) offence("hwloc is reached through arena alone")
        next
    }
    if (included == "sleef.h") {
        if (FILENAME != "src/engine/kernels/vector_math_sleef.inl.h") offence("SLEEF is reached through one header alone")
        next
    }
    if (included == "mpi.h") { if (room != "mpi") offence("only src/mpi sees MPI"); next }
    if (included ~ /^cu(da|blas)[a-z_]*\.h$/) { if (room != "cuda") offence("only src/cuda sees CUDA"); next }
    if (system_header) next
    if (included == "features_config.h") {
        if (FILENAME != "src/arena/features.c") offence("made for features.c alone")
        next
    }
    # The include path has src/, and a folder named like a room is one.
    target = resolve(included ~ /^(arena|storage|engine|mpi|cuda)\// ? "src" : folder, included)
    split(target, to, "/")
    if (level(to[2]) == 0) { offence("leads to no room"); next }
    if (included ~ /\.c$/) { offence("a .c file is compiled, not included"); next }
    if (upward(room, to[2])) { offence("arrow from " room " up to " to[2]); next }
    if (to[2] != room && target !~ /^src\/(arena\/(base|arena)|storage\/(storage|provider|stream)|engine\/device)\.h$/)
        offence("private to src/" to[2])
}
END { exit bad }
' $files
