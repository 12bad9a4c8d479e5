# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Chroots of Debian bookworm; sourced by run, which has set work and logs.

# Prints where this machine's apt gets bookworm.
debian_mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 'Created-By: Packages' | sort -u | head -n 1
}

# Makes the base of all chroots, once.
make_base() {
    local mirror
    [ ! -e "$work/base.tar" ] || return 0
    command -v debootstrap >/dev/null || die "debootstrap is needed (Debian: apt-get install debootstrap)"
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || die "this machine's apt has no entry for Debian's bookworm"
    rm -rf "$work/base"
    step "$logs/debootstrap.log" 900 "chroot: debootstrap" \
        debootstrap --variant=minbase bookworm "$work/base" "$mirror"
    apt-config dump | grep -E '^Acquire::https?::' >"$work/base/etc/apt/apt.conf.d/99machine" || true
    tar -C "$work/base" --one-file-system -cf "$work/base.tar.new" .
    mv "$work/base.tar.new" "$work/base.tar"
    rm -rf "$work/base"
}

# new_chroot NAME: makes an empty one in $work/NAME and sets root to it.
new_chroot() {
    make_base
    root=$work/$1
    rm -rf --one-file-system "$root"
    mkdir "$root"
    tar -C "$root" -xf "$work/base.tar"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
}

# inside COMMAND...: runs a command in the chroot. What it mounts is gone when it ends, and so are its processes.
inside() {
    unshare --mount --pid --fork --kill-child sh -c '
        set -e
        root=$1
        shift
        mount -t proc proc "$root/proc"
        mount --bind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/dev/shm"
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
            DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"' sh "$root" "$@"
}

export -f inside

# install_packages NAME...: with what they recommend, no.
install_packages() {
    step "$logs/install-${root##*/}.log" 900 "chroot ${root##*/}: installing $*" \
        bash -c 'inside apt-get update && inside apt-get install --yes --no-install-recommends "$@"' sh "$@"
}
