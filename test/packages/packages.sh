# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The Debian packages: built, looked at, installed beside Debian's MPICH, used, removed; sourced by run.

names=(libbufenlarge-dev bufenlarge-tools mpich-bufenlarge libmpich-bufenlarge-dev)
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
private=/usr/lib/$triplet/mpich-bufenlarge

build_packages() {
    [ -n "$mpich_source" ] || mpich_source=$("$top/tools/mpich-fetch" "$work/source" "$logs")
    copy_tree "$work/build/bufenlarge"
    refused "debian/rules without the source of MPICH says how to get it" "BUFENLARGE_MPICH_SOURCE" \
        env -u BUFENLARGE_MPICH_SOURCE -C "$work/build/bufenlarge" debian/rules check-mpich-source
    step "$logs/build.log" 5400 "packages: dpkg-buildpackage -us -uc -b" \
        env -C "$work/build/bufenlarge" "BUFENLARGE_MPICH_SOURCE=$mpich_source" \
        "DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-nocheck parallel=$(nproc)}" dpkg-buildpackage -us -uc -b
    packages=$work/build
}

# Prints files of the chroot that were not there before and are of no package that is installed.
new_files() {
    all_files "$work/files-after"
    # Some packages still name a file by /lib, which is a link to /usr/lib.
    cat "$root"/var/lib/dpkg/info/*.list | sed -E 'p; s,^/(s?bin|lib[0-9a-z]*)/,/usr/\1/,' |
        LC_ALL=C sort -u >"$work/files-owned"
    LC_ALL=C comm -13 "$work/files-before" "$work/files-after" | LC_ALL=C comm -23 - "$work/files-owned"
}

# What packages do not own in any case: the caches and records of dpkg, apt, the linker and man.
all_files() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/cache -o -path ./var/log \
        -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path './var/lib/systemd' \) -prune -o -print) |
        sed 's|^\.||' | LC_ALL=C sort >"$1"
}

# chosen GROUP PATH: the group's link is PATH at present.
chosen() {
    inside update-alternatives --query "$1" >"$work/query"
    cat "$work/query"
    grep -qx "Value: $2" "$work/query"
}

offered() {
    inside update-alternatives --list "$1" >"$work/list"
    cat "$work/list"
    grep -qx "$2" "$work/list"
}

export -f chosen offered

look_at_packages() {
    local name
    for name in "${names[@]}"; do
        check "there is a package $name" sh -c 'ls "$1"/"$2"_*.deb' sh "$packages" "$name"
    done
    check "lintian has no error and no warning" \
        sh -c 'lintian --fail-on error,warning --allow-root "$1"/bufenlarge_*.changes' sh "$packages"
}

# Debian's MPICH, and what our packages depend on, so that only they come and go afterwards.
prepare_chroot() {
    new_chroot packages
    install_packages gcc libc6-dev man-db mpich libmpich-dev pkg-config \
        libfabric-dev libsodium-dev libhwloc15 python3
    mkdir "$root/packages"
    cp "$packages"/*.deb "$root/packages"
    cp -r "$top/debian/tests" "$root/packages/tests"
    all_files "$work/files-before"
}

check_installed() {
    local page group
    check "they install beside Debian's MPICH" \
        inside sh -c 'apt-get install --yes --no-install-recommends /packages/*.deb'
    check "nothing of them is broken" inside dpkg --verify "${names[@]}"
    for group in "mpi /usr/bin/mpicc" "mpirun /usr/bin/mpirun"; do
        set -- $group
        check "the group $1 offers Debian's" offered "$1" "$2.mpich"
        check "the group $1 offers ours" offered "$1" "$2.mpich-bufenlarge"
        check "the group $1 still has Debian's chosen" chosen "$1" "$2.mpich"
    done
    check "the group mpi-$triplet offers ours" offered "mpi-$triplet" "$private/include"
    check "a job of 4 ranks over the netmod, by the names of the packages" inside /packages/tests/job
    check "mpicc.mpich-bufenlarge compiles" inside mpicc.mpich-bufenlarge -o /tmp/job /packages/tests/job.c
    check "a job of Debian's MPICH still runs" inside sh -c 'mpicc.mpich -o /tmp/theirs /packages/tests/job.c &&
        mpirun.mpich -n 2 /tmp/theirs | grep "^2 ranks agree"'
    for page in bufenlarge bufenlarge_info bufenlarge_report {mpicc,mpirun,mpiexec}.mpich-bufenlarge; do
        check "man finds $page" inside man --where "$page"
    done
    check "a C program links by pkg-config bufenlarge" inside sh -c '
        printf "#include <bufenlarge.h>\n#include <stdio.h>\nint main(void){return puts(bufenlarge_version())<0;}" \
            >/tmp/user.c && gcc -o /tmp/user /tmp/user.c $(pkg-config --static --cflags --libs bufenlarge) && /tmp/user'
    check "bufenlarge_info runs" inside bufenlarge_info --devices
    check "bufenlarge_report makes a page of a job's summary" inside sh -ec '
        cd /tmp && MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_BUFENLARGE_INTERFACE=lo MPIR_CVAR_BUFENLARGE_SUMMARY_FILE=job.json \
            mpirun.mpich-bufenlarge -n 4 /tmp/job && bufenlarge_report job.json && ls -l job.html'
}

check_chosen() {
    check "update-alternatives makes ours the machine's MPI" inside sh -ec "
        update-alternatives --set mpi /usr/bin/mpicc.mpich-bufenlarge
        update-alternatives --set mpirun /usr/bin/mpirun.mpich-bufenlarge
        update-alternatives --set mpi-$triplet $private/include"
    check "mpicc, mpirun and mpiexec are ours then, with the proxy of ours" inside sh -ec "
        cd /tmp && mpicc -o ours /packages/tests/job.c
        export MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_BUFENLARGE_INTERFACE=lo
        for start in mpirun mpiexec; do
            \$start -n 4 ./ours >said && grep '^4 ranks agree, proxy $private/bin/hydra_pmi_proxy\$' said
        done"
    check "pkg-config mpi is ours then" inside sh -ec "
        cd /tmp && gcc -o by-mpi \$(pkg-config --cflags mpi) /packages/tests/job.c \$(pkg-config --libs mpi)
        MPIR_CVAR_BUFENLARGE_INTERFACE=lo mpirun -n 2 ./by-mpi >said && grep 'ch4:bufenlarge' said"
    for page in mpicc mpirun mpiexec; do check "man finds $page" inside man --where "$page"; done
}

check_gone() {
    check "they can be removed" inside apt-get remove --yes "${names[@]}"
    check "Debian's mpirun is chosen again" chosen mpirun /usr/bin/mpirun.mpich
    check "Debian's mpicc is chosen again" chosen mpi /usr/bin/mpicc.mpich
    # apt does not know the name of a package that is gone without a configuration.
    check "they can be purged" inside dpkg --purge "${names[@]}"
    check "nothing of them is left" sh -c '[ -z "$1" ] || { echo "$1"; exit 1; }' sh "$(new_files)"
    check "no alternative names them" sh -c '! grep -rl bufenlarge "$1"' sh "$root/var/lib/dpkg/alternatives"
    check "dpkg knows none of them" sh -c '! grep -l bufenlarge "$1"' sh "$root/var/lib/dpkg/status"
}

[ -n "$packages" ] || build_packages
look_at_packages
prepare_chroot
check_installed
check_chosen
check_gone
