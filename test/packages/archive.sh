# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The release archive: made from this tree, then built, tested and installed in a chroot with neither git nor
# autotools; sourced by run.

library_needs=(g++ make pkg-config libfabric-dev libxxhash-dev libsodium-dev catch2 python3 xz-utils)
mpich_needs=(autoconf automake gcc libhwloc-dev m4 patch perl)

make_archive() {
    local tree=$work/archive-tree
    copy_tree "$tree"
    step "$logs/archive-autogen.log" 300 "archive: autogen.sh" "$tree/autogen.sh"
    mkdir "$tree/build"
    step "$logs/archive-configure.log" 300 "archive: configure" env -C "$tree/build" ../configure
    step "$logs/archive-dist.log" 300 "archive: make dist" make -C "$tree/build" dist
    set -- "$tree"/build/bufenlarge-*.tar.xz
    [ -e "$1" ] || die "make dist made no archive; log: $logs/archive-dist.log"
    archive=$1
}

# within COMMAND...: in the folder of the unpacked archive.
within() { inside sh -c 'cd /root/bufenlarge-* && exec "$@"' sh "$@"; }
export -f within

lacks() { if inside sh -c 'command -v "$1"' sh "$1"; then return 1; fi; }
export -f lacks

check_library() {
    local program
    for program in git autoconf automake aclocal autoreconf; do
        check "the chroot has no $program" lacks "$program"
    done
    check "the archive can be unpacked" inside sh -c 'cd /root && tar -xf bufenlarge-*.tar.xz'
    check "it has the Debian package and Spack's recipe" \
        within ls debian/rules debian/control packaging/spack/repo.yaml packaging/spack/packages/bufenlarge/package.py
    check "configure" within ./configure --prefix=/opt/bufenlarge
    check "make" within make "-j$(nproc)"
    check "make of the tests" within make "-j$(nproc)" check TESTS=
    check "make check" within make check
    tail -n 30 "$work/check.log" | grep -E '^# (TOTAL|PASS|FAIL):' | sed 's/^/          /' || true
    check "make install" within make install
    check "bufenlarge_info is installed and runs" inside /opt/bufenlarge/bin/bufenlarge_info --version
    check "and bufenlarge(7)" inside test -s /opt/bufenlarge/share/man/man7/bufenlarge.7
    refused "make mpich without a source of MPICH is refused" "--with-mpich-source=DIR" within make mpich
}

check_mpich() {
    cp -r "$mpich_source" "$root/root/mpich-source"
    check "configure with MPICH's source" \
        within ./configure --prefix=/opt/bufenlarge --with-mpich-source=/root/mpich-source
    refused "make mpich names the program of autotools that it needs" "is needed to add a netmod to MPICH" \
        within make mpich
    install_packages "${mpich_needs[@]}"
    step "$logs/archive-mpich.log" 5400 "archive: make mpich" \
        bash -c 'within make "-j$(nproc)" mpich MPICH_PARTS=--quick'
    check "make mpich installs ch4:bufenlarge" \
        inside sh -c '/opt/bufenlarge/bin/mpichversion | grep "ch4:bufenlarge$"'
    mkdir -p "$root/packages"
    cp "$top/debian/tests/job.c" "$root/packages"
    check "a job of 4 ranks over the netmod" inside sh -ec '
        export PATH=/opt/bufenlarge/bin:$PATH MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_BUFENLARGE_INTERFACE=lo
        mpicc -o /tmp/job /packages/job.c && mpirun -n 4 /tmp/job >/tmp/said
        cat /tmp/said && grep "^4 ranks agree" /tmp/said && grep ch4:bufenlarge /tmp/said'
}

make_archive
new_chroot archive
install_packages "${library_needs[@]}"
cp "$archive" "$root/root"
check_library
[ -z "$mpich_source" ] || check_mpich
