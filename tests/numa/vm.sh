#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# vm.sh PROGRAM...: runs programs inside a machine of four NUMA nodes, the last one without CPUs.
#
# The machine is emulated (qemu, no KVM): Debian's kernel, and in its memory a busybox and the programs with the libraries
# that they need here. Node 0: CPUs 0-1, node 1: 2-3, node 2: 4-5, node 3: memory only, and little of it. Nodes 1 and 2 are
# close to each other, node 3 is far from all. Each program runs as root, in its turn, and must end with 0. No disk, no network;
# what is made here is removed at the end.
#
# TENURE_VM_KERNEL names the kernel; else build-vm/ of the source tree, where scripts/test.sh puts one, then /boot.
# Ends with 77 and the reason when something that a package brings is missing.
set -euo pipefail

skip() {
    echo "skipped: $1"
    exit 77
}

# /boot may hold kernels for other purposes: one that lacks NUMA makes the programs fail, not skip.
find_kernel() {
    local candidate
    for candidate in ${TENURE_VM_KERNEL:+"$TENURE_VM_KERNEL"} "${TENURE_SOURCE_DIR:-.}"/build-vm/vmlinuz* \
        /boot/vmlinuz-*-cloud-amd64 /boot/vmlinuz-*-amd64; do
        if [ -r "$candidate" ]; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

[ $# -gt 0 ] || {
    echo "usage: vm.sh PROGRAM..." >&2
    exit 2
}
[ "$(uname -m)" = x86_64 ] || skip "the machine is made for x86_64, this is $(uname -m)"
for needed in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio timeout:coreutils; do
    command -v "${needed%%:*}" > /dev/null || skip "no ${needed%%:*} (Debian: ${needed#*:})"
done
busybox=$(command -v busybox)
if ldd "$busybox" > /dev/null 2>&1; then
    skip "busybox is not static (Debian: busybox-static)"
fi
kernel=$(find_kernel) || skip "no Linux kernel to boot; scripts/test.sh fetches Debian's into build-vm/, or set TENURE_VM_KERNEL"

work=$(mktemp -d "${TMPDIR:-/tmp}/tenure-vm.XXXXXX")
qemu=
leave() {
    [ -z "$qemu" ] || kill "$qemu" 2> /dev/null || true
    rm -rf "$work"
}
trap leave EXIT
trap 'exit 1' INT TERM HUP

# ---- The machine's files ------------------------------------------------------------------------------------------------

root=$work/root
mkdir -p "$root"/{bin,dev,proc,sys,tmp,programs}
cp "$busybox" "$root/bin/busybox"

# A file to the same place inside, without its debugging information.
give() {
    local place=$root$2
    [ ! -e "$place" ] || return 0
    mkdir -p "${place%/*}"
    cp -L "$1" "$place"
    strip --strip-debug "$place" 2> /dev/null || true
}

for program in "$@"; do
    [ -x "$program" ] || {
        echo "no such program: $program" >&2
        exit 1
    }
    name=${program##*/}
    give "$program" "/programs/$name"
    printf '%s\n' "$name" >> "$root/programs.list"
    while read -r library; do
        give "$library" "$library"
    done < <(ldd "$program" 2> /dev/null | awk '/=> \//{print $3} /^[ \t]*\//{print $1}')
done

{
    for variable in TENURE_TEST_SEED TENURE_ISA UBSAN_OPTIONS; do
        [ -z "${!variable:-}" ] || printf 'export %s=%q\n' "$variable" "${!variable}"
    done
    # freed memory is not kept back: the nodes are small
    printf 'export ASAN_OPTIONS=%q\n' "${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1"
    printf 'export TENURE_VM=1 PATH=/bin HOME=/scratch\n'
} > "$root/environment"

cat > "$root/init" << 'INIT'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox --install -s /bin
. /environment
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control
ulimit -c 0
echo "vm: up after $(cut -d ' ' -f 1 /proc/uptime) s, nodes $(cat /sys/devices/system/node/online)," \
    "with CPUs $(cat /sys/devices/system/node/has_cpu)"
mkdir -p /scratch
cd /scratch
while read -r name; do
    echo "vm: begin $name"
    "/programs/$name" 2>&1
    echo "vm: end $name $?, $(cut -d " " -f 1 /proc/uptime) s"
done < /programs.list
echo "vm: down after $(cut -d ' ' -f 1 /proc/uptime) s"
poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc) > "$work/initramfs"
rm -rf "$root"

# ---- Running it --------------------------------------------------------------------------------------------------------------

sizes=(512M 384M 256M 96M)
distances=("0 1 20" "0 2 20" "0 3 30" "1 2 15" "1 3 30" "2 3 30")
arguments=()
for node in 0 1 2 3; do
    arguments+=(-object "memory-backend-ram,id=memory$node,size=${sizes[node]}")
    cpus=",cpus=$((2 * node))-$((2 * node + 1))"
    [ "$node" -lt 3 ] || cpus=
    arguments+=(-numa "node,nodeid=$node,memdev=memory$node$cpus")
done
for entry in "${distances[@]}"; do
    read -r from to value <<< "$entry"
    arguments+=(-numa "dist,src=$from,dst=$to,val=$value")
done

timeout "${TENURE_VM_SECONDS:-500}" qemu-system-x86_64 -no-user-config -nodefaults -machine pc -accel tcg,thread=multi \
    -cpu max,la57=off -smp 6,sockets=3,cores=2,threads=1 -m 1248M "${arguments[@]}" \
    -display none -monitor none -serial "file:$work/console" -no-reboot \
    -kernel "$kernel" -initrd "$work/initramfs" -append 'console=ttyS0 quiet panic=-1 mitigations=off nokaslr no_timer_check' \
    < /dev/null > "$work/qemu" 2>&1 &
qemu=$!
status=0
wait "$qemu" || status=$?
qemu=
tr -d '\r' < "$work/console" > "$work/text" || true
cat "$work/qemu"
# what the firmware writes to clear the screen, and what it says before
sed -e '/SeaBIOS/d;/Booting from/d' -e 's/\x1b[c]//g;s/\x1b\[[?0-9;]*[a-zA-Z]//g' "$work/text" | grep -v '^$' || true

if [ "$status" -ne 0 ]; then
    echo "FAILED: qemu ended with $status$([ "$status" != 124 ] || echo ', it took too long')"
    exit 1
fi
failed=0
skipped=0
for program in "$@"; do
    name=${program##*/}
    result=$(sed -n "s/^vm: end $name \([0-9]*\), .*/\1/p" "$work/text" | tail -n 1)
    case $result in
        0) echo "passed: $name" ;;
        77)
            echo "skipped inside: $name"
            skipped=$((skipped + 1))
            ;;
        *)
            echo "FAILED: $name ended with ${result:-nothing}"
            failed=$((failed + 1))
            ;;
    esac
done
grep -q '^vm: down' "$work/text" || {
    echo "FAILED: the machine did not come to its end"
    failed=$((failed + 1))
}
# Nothing is missing inside: a program that skips there has not done its work.
[ "$failed" -eq 0 ] && [ "$skipped" -eq 0 ]
