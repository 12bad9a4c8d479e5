# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Builds siw as a module for exactly the kernel that the guest boots: Debian's kernels come without it, but
# their source package has it. Sourced by rdma-vm after prepare.sh.

siw_packages=(make gcc xz-utils)

# Writes only the driver's folder of the large tarball in the package to the disk.
extract_siw() {
    step "$logs/rdma-vm-siw-source.log" 600 "guest: taking siw out of Debian's kernel source" bash -c '
        set -euo pipefail
        dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards "./usr/src/linux-source-*.tar.xz" | xz -dc |
            tar -x -C "$2" --strip-components=5 --wildcards "*/drivers/infiniband/sw/siw/*"' \
        extract "$(find "$scratch" -name 'linux-source-*.deb')" "$scratch/siw"
    rm -f "$scratch"/linux-source-*.deb
    [ -e "$scratch/siw/siw_main.c" ] || die "Debian's kernel source has no siw; log: $logs/rdma-vm-siw-source.log"
}

# The headers' makefile names the folder that they would be installed in; this changes it to where they are.
unpack_headers() {
    local package tree=$scratch/headers
    for package in "$@"; do unpack_into "$tree" "$package"; done
    sed -i "s|^include /usr/src/|include $tree/usr/src/|" "$tree/usr/src/linux-headers-$kernel/Makefile"
}

build_siw() {
    sed 's/\$(CONFIG_RDMA_SIW)/m/' "$scratch/siw/Makefile" >"$scratch/siw/Kbuild"
    rm "$scratch/siw/Makefile"
    step "$logs/rdma-vm-siw-build.log" 600 "guest: building siw for Linux $kernel" \
        make -C "$scratch/headers/usr/src/linux-headers-$kernel" "M=$scratch/siw" "-j$jobs" modules
    strip --strip-debug "$scratch/siw/siw.ko"
    install -D -m 644 "$scratch/siw/siw.ko" "$image/modules/lib/modules/$kernel/extra/siw.ko"
    depmod --basedir "$image/modules" "$kernel"
}

prepare_siw() {
    local packages
    need_packages "${siw_packages[@]}" || exit 125
    need_space 700 "building siw"
    mapfile -t packages < <(header_packages "$kernel")
    [ ${#packages[@]} -eq 3 ] || die "apt-cache does not know what linux-headers-$kernel depends on"
    download "guest: downloading Debian's kernel headers and source (150 MB)" "${packages[@]}" \
        "$(source_package "$package_version")"
    mkdir -p "$scratch/siw"
    extract_siw
    unpack_headers "${packages[@]}"
    build_siw
    make_initramfs siw siw
}
