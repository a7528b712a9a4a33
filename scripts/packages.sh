# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the other scripts: need_packages NAME... installs what a bare Debian 12 lacks. Nothing is asked of apt when all
# is there; who is not root gets the line to run.

need_packages() {
    local missing=() name
    for name in "$@"; do
        if [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2> /dev/null || true)" != installed ]; then
            missing+=("$name")
        fi
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        echo "missing packages; run as root: apt-get install --no-install-recommends ${missing[*]}" >&2
        return 1
    fi
    echo "installing: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # Services that come with a package stay off: tests start their own. A machine's own policy is left alone.
    local policy=/usr/sbin/policy-rc.d status=0
    if [ -e "$policy" ]; then
        policy=
    else
        printf '#!/bin/sh\nexit 101\n' > "$policy"
        chmod +x "$policy"
    fi
    if ! apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null 2>&1; then
        # package lists are missing or old
        apt-get update -qq &&
            apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null || status=$?
    fi
    [ -z "$policy" ] || rm -f "$policy"
    return "$status"
}

# fetch_kernel FOLDER: FOLDER/vmlinuz-*, a kernel of Debian's for the tests' emulated machine. The package is unpacked, not
# installed: installing one makes an initramfs and looks for a boot loader. amd64 only, as that machine is.
fetch_kernel() {
    local folder=$1 name download
    newest() { # what the package without a version in its name depends on
        apt-cache depends linux-image-cloud-amd64 2> /dev/null | awk '/ Depends: linux-image-[0-9]/ && !found++ { print $2 }'
    }
    if compgen -G "$folder/vmlinuz-*" > /dev/null || [ "$(dpkg --print-architecture)" != amd64 ]; then
        return 0
    fi
    name=$(newest)
    if [ -z "$name" ]; then
        apt-get update -qq
        name=$(newest)
    fi
    download=$(mktemp -d)
    echo "fetching: $name"
    if ! (cd "$download" && apt-get download -qq -o APT::Sandbox::User=root "$name" > /dev/null 2>&1); then
        apt-get update -qq
        name=$(newest)
        (cd "$download" && apt-get download -qq -o APT::Sandbox::User=root "$name" > /dev/null)
    fi
    mkdir -p "$folder"
    dpkg-deb --fsys-tarfile "$download"/linux-image-*.deb |
        tar -x -C "$folder" --strip-components=2 --wildcards './boot/vmlinuz-*'
    rm -rf "$download"
}
