# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Makes what the guest boots, once per kernel version, in the cache; sourced by rdma-vm after common.sh
# and cache.sh. Sets, for other parts:
#   image     folder with vmlinux, modules/ and initramfs-FABRIC

guest_packages=(qemu-system-x86 busybox-static cpio kmod xz-utils iproute2 iputils-ping socat rdma-core
    ibverbs-providers ibverbs-utils rdmacm-utils perftest libfabric-bin)

# The modules of the guest in the order of loading, without the modules that they depend on. rxe and siw
# request their checksums by the name of the algorithm, so they have no dependency on those modules.
guest_modules=(virtio_pci virtio_console 9pnet_virtio 9p overlay virtio_net veth sch_netem nf_tables
    crc32_generic crc32_pclmul crc32c_generic crc32c_intel ib_uverbs rdma_ucm)

# Prints "KERNEL VERSION" for each of Debian's kernels, of its name and its packages, the newest first.
debian_kernels() {
    apt-cache show linux-image-amd64 2>/dev/null |
        sed -n 's/^Depends: linux-image-\([^ ]*\) (= \([^)]*\)).*/\1 \2/p' | sort --version-sort --reverse --key=2 -u
}

# source_package VERSION: prints the package of a kernel's source, in which siw is.
source_package() { echo "linux-source-$(cut -d . -f 1,2 <<<"$1")"; }

# header_packages KERNEL: prints the packages that make up its headers.
header_packages() {
    printf '%s\n' "linux-headers-$1"
    apt-cache depends --no-recommends --no-suggests "linux-headers-$1" 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-headers-.*-common\|linux-kbuild-.*\)$/\1/p'
}

# missing_of KERNEL VERSION: prints the packages that apt-cache does not know in this version.
missing_of() {
    local packages
    mapfile -t packages < <(echo "linux-image-$1" && header_packages "$1" && source_package "$2")
    apt-cache madison "${packages[@]}" 2>/dev/null | awk -v version="$2" -v packages="${packages[*]}" '
        $3 == version { there[$1] = 1 }
        END { for (i = split(packages, name, " "); i > 0; i--) if (!(name[i] in there)) print name[i] "=" version }'
}

# Sets `kernel`, the version of Debian's newest kernel whose packages are all there, and `package_version`, that of the
# packages. For some hours after an update in Debian's archive they are not: the image, which is signed, comes later
# than the rest, and the rest does not keep the version before.
find_kernel() {
    local architecture missing='' first=''
    architecture=$(dpkg --print-architecture)
    [ "$architecture" = amd64 ] || die "the guest is an x86-64 machine; this host's Debian is $architecture"
    while read -r kernel package_version; do
        missing=$(missing_of "$kernel" "$package_version")
        [ -n "$missing" ] || return 0
        first=${first:-$missing}
    done < <(debian_kernels)
    [ -n "$first" ] ||
        die "apt-cache knows no linux-image-amd64; run apt-get update, or add Debian's main to apt's sources"
    die "apt-cache knows no kernel with all of its packages; the newest lacks" $first
}

# Sets `image`; the folder may not exist yet.
find_image() {
    find_kernel
    image=$cache/rdma-vm-$({
        printf '%s\n' "$kernel" "$package_version"
        cat "$top/tools/rdma-vm.d/prepare.sh" "$top/tools/rdma-vm.d/siw.sh" "$top/tools/rdma-vm.d/init"
    } | digest_of_text)
}

# need_space MEGABYTES WHAT
need_space() {
    local free
    free=$(df --output=avail -m "$cache" | tail -n 1)
    [ "$free" -ge "$1" ] ||
        die "$2 needs $1 MB in $cache, where $((free)) MB are free; make room or set BUFENLARGE_CACHE to another folder"
}

# download TEXT PACKAGE...: downloads packages of exactly the kernel's version into the scratch folder.
download() {
    local text=$1 names=() name
    shift
    for name in "$@"; do names+=("$name=$package_version"); done
    step "$logs/rdma-vm-download.log" 900 "$text" \
        env -C "$scratch" apt-get -o APT::Sandbox::User=root -o Acquire::Retries=3 download "${names[@]}"
}

# unpack_into DIR PACKAGE
unpack_into() {
    step "$logs/rdma-vm-unpack.log" 300 "guest: unpacking $2" dpkg-deb -x "$(find "$scratch" -name "$2_*.deb")" "$1"
    rm -f "$scratch/$2"_*.deb
}

# Debian packs its kernel image with xz. An emulated CPU takes longer to unpack it than for the rest of the
# boot, and QEMU also starts an unpacked image (by its PVH entry).
unpack_kernel() {
    local offset
    offset=$(LC_ALL=C grep -abo -m 1 -P '\xfd7zXZ\x00' "$1" | LC_ALL=C cut -d : -f 1 | head -n 1) || true
    [ -n "$offset" ] || die "no xz stream in ${1##*/}: this kernel is packed in another way"
    # xz complains about the bytes that follow the stream in the file.
    tail -c "+$((offset + 1))" "$1" | xz -dc 2>/dev/null >"$2" || true
    [ "$(head -c 4 "$2" | tail -c 3)" = ELF ] || die "cannot unpack ${1##*/}"
}

# module_files DIR MODULE...: prints the files below DIR that these modules need, in the order of loading.
module_files() {
    local tree=$1
    shift
    for module in "$@"; do
        modprobe --dirname "$tree" --set-version "$kernel" --show-depends "$module" ||
            die "Debian's kernel has no module $module"
    done | sed -n "s|^insmod $tree/\([^ ]*\).*|\1|p" | awk '!seen[$0]++'
}

# make_initramfs FABRIC MODULE
make_initramfs() {
    local tree=$image/modules root=$scratch/root
    rm -rf "$root"
    mkdir -p "$root"/{bin,sbin,proc,sys,dev,lower,layer,root,lib/modules}
    cp "$(command -v busybox)" "$root/bin/busybox"
    for name in sh mount insmod mkdir cp sleep switch_root; do ln -s busybox "$root/bin/$name"; done
    ln -s ../bin/busybox "$root/sbin/modprobe"
    cp -a "$tree/lib/modules/$kernel" "$root/lib/modules/"
    cp "$top/tools/rdma-vm.d/init" "$root/init"
    chmod 755 "$root/init"
    module_files "$tree" "${guest_modules[@]}" "$2" | sed 's|^|/|' >"$root/modules.load"
    (cd "$root" && find . | cpio --quiet --create --format=newc --owner=0:0) >"$scratch/initramfs"
    mv "$scratch/initramfs" "$image/initramfs-$1"
}

prepare_kernel() {
    local name
    [ ! -e "$image/vmlinux" ] || return 0
    need_space 800 "preparing the guest"
    download "guest: downloading Debian's kernel $package_version (70 MB)" "linux-image-$kernel"
    unpack_into "$scratch/image" "linux-image-$kernel"
    depmod --basedir "$scratch/image" "$kernel"
    rm -rf "$image/modules"
    module_files "$scratch/image" "${guest_modules[@]}" rdma_rxe libcrc32c >"$scratch/list"
    printf "lib/modules/$kernel/%s\n" modules.builtin modules.builtin.modinfo modules.order >>"$scratch/list"
    while IFS= read -r name; do
        install -D -m 644 "$scratch/image/$name" "$image/modules/$name"
    done <"$scratch/list"
    depmod --basedir "$image/modules" "$kernel"
    unpack_kernel "$scratch/image/boot/vmlinuz-$kernel" "$scratch/vmlinux"
    mv "$scratch/vmlinux" "$image/vmlinux"
}

# prepare FABRIC: makes what is missing; only one run at a time does so.
prepare() {
    need_packages "${guest_packages[@]}" || exit 125
    find_image
    if [ -e "$image/initramfs-$1" ]; then
        touch "$image"
        return 0
    fi
    mkdir -p "$image"
    exec {prepare_lock}>>"$image/lock"
    flock --timeout 1800 "$prepare_lock" || die "$image/lock was held by another run for half an hour"
    if [ ! -e "$image/initramfs-$1" ]; then
        scratch=$image/scratch
        rm -rf "$scratch"
        mkdir -p "$scratch"
        prepare_kernel
        "prepare_$1"
        rm -rf "$scratch"
        # Removes images of earlier kernels and tool versions that nobody has used for a week.
        find "$cache" -maxdepth 1 -name 'rdma-vm-????????????????' -mtime +7 -exec rm -rf {} +
    fi
    exec {prepare_lock}>&-
}

prepare_rxe() { make_initramfs rxe rdma_rxe; }
