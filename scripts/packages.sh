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
    if ! apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null 2>&1; then
        # package lists are missing or old
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
    fi
}
