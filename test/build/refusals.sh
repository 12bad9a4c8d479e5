# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What configure, make and the commands refuse, and with which words; sourced by run.

configure=$(sed -n 's/^srcdir = //p' "$build/Makefile")
configure=$(cd "$build" && cd "$configure" && pwd)/configure
supported="4.0, 4.1, 4.2, 4.3, 5.0"
mkdir -p "$work/fake/maint" "$work/elsewhere" "$work/in-place"
fake_version() { printf 'm4_define([MPICH_VERSION_m4],[%s])dnl\n' "$2" >"$1/maint/version.m4"; }
configured() { (cd "$work/elsewhere" && "$configure" "$@"); }
export -f configured
export configure work

fake_version "$work/fake" 3.4.3
refused "configure names an MPICH version that is not supported, and those that are" \
    "MPICH 3.4.3 is not supported; supported are the releases of $supported; --with-mpich-unsupported tries it" \
    bash -c 'configured --with-mpich-source="$work/fake"'
refused "mpich-tree does too" "MPICH 3.4.3 is not supported; supported are the releases of $supported" \
    tools/mpich-tree --source "$work/fake" --tree "$work/tree"
refused "configure refuses a folder that is not MPICH" "is not an MPICH source tree" \
    bash -c 'configured --with-mpich-source="$work/elsewhere"'
refused "configure refuses a folder that is not there" "no such MPICH source directory" \
    bash -c 'configured --with-mpich-source="$work/nowhere"'

refused "configure knows two values of --with-mpich-unsupported" "takes yes or no, not 'perhaps'" \
    bash -c 'configured --with-mpich-unsupported=perhaps'
# gets FLAG: whether each version of a line gets the patches that stand behind it.
gets() {
    local version patches
    while read -r version patches; do
        fake_version "$work/fake" "$version"
        # shellcheck disable=SC2086 # no flag, or one
        diff <(echo "$version $patches") <(tools/mpich-version $1 "$work/fake" mpich-patches 2>&1) || true
    done
}
report "each release of a series gets its own patches, else those of the next or last of the series" "$(gets '' <<'END'
4.0 4.0.2
4.0.2 4.0.2
4.0.3 4.0.3
4.1.1 4.1.2
4.1.3 4.1.3
4.2.0 4.2.1
4.2.2 4.2.2
4.2.9 4.2.3
4.3.0 4.3.0
4.3.1 4.3.2
5.0.0 5.0.1
END
)"
report "with the flag other versions get the patches of the last series before theirs" "$(gets --unsupported <<'END'
4.1rc1 4.1.3
4.10.1 4.3.2
5.1.0 5.0.1
3.4.3 4.0.2
4.2.3 4.2.3
END
)"

fake_version "$work/fake" 4.0.2
refused "a tree without configure is refused" "has no configure script" \
    tools/mpich-tree --source "$work/fake" --tree "$work/tree"
printf '#!/bin/sh\n' >"$work/fake/configure" && chmod +x "$work/fake/configure"
touch "$work/fake/config.status"
refused "a tree that was configured in place is refused" "was configured in place" \
    tools/mpich-tree --source "$work/fake" --tree "$work/tree"
rm "$work/fake/config.status" && mkdir -p "$work/fake/src/mpid/ch4/netmod/bufenlarge"
refused "a tree that has the netmod is refused" "already has a netmod bufenlarge" \
    tools/mpich-tree --source "$work/fake" --tree "$work/tree"
rmdir "$work/fake/src/mpid/ch4/netmod/bufenlarge"
refused "a patch that does not apply names its log" "log: $work/logs/0001-" \
    tools/mpich-tree --source "$work/fake" --tree "$work/tree" --logs "$work/logs"

refused "configure refuses GCC 11" "needs GCC 12 or Clang 14" \
    bash -c 'CXX="g++ -U__GNUC__ -D__GNUC__=11" configured'
refused "configure refuses an old or missing libfabric" "needs libfabric 1.17 or later" \
    bash -c 'PKG_CONFIG_LIBDIR=/nonexistent configured'
refused "configure names the sanitizers" "takes address, undefined" bash -c 'configured --enable-sanitizer=memory'
refused "make mpich asks for MPICH's source" "needs configure's --with-mpich-source" \
    make -C "$build" mpich MPICH_SOURCE= "prefix=$work/unused" MPICH_WORK="$work/unused"
refused "quickstart names the fabrics" "allowed is auto, tcp, rxe or siw" ./quickstart --fabric token-ring
info() { "$build/bufenlarge_info" --memory "$@"; }
export -f info
export build
refused "the model names the most ranks" "--memory '0': allowed is a number of ranks, 1 to 100000000" bash -c 'info 0'
refused "the model names its patterns" "allowed is alltoall, neighbours:N or hub" bash -c 'info 4 --pattern ring'
refused "the model names its fabrics" "allowed is roce, iwarp, rxe, siw or tcp" bash -c 'info 4 --fabric ib'
refused "the model names its options" "there are --per-node, --pattern" bash -c 'info 4 --nodes 2'
refused "the model reads the knobs" "MPIR_CVAR_BUFENLARGE_SLOTS='0' is not allowed" \
    env MPIR_CVAR_BUFENLARGE_SLOTS=0 bash -c 'info 4'
draw() { "$build/bufenlarge_info" --draw-memory "$@"; }
export -f draw
printf '%s\n' time_us,context,ring_bytes,user_bytes,connections,enlargements,shrinks 1000000,0,20480,0,1,0,0 \
    1002000,0,151552,0,1,1,0 1050000,0,20480,4096,1,1,1 >"$work/memory.0"
report "a memory log is drawn: two lines, growth above and its way back below" "$(
    draw "$work/memory.0" | grep -c '<path\|>1 grew<\|>1 back<' | grep -vx 4)"
printf '1,2\n' >"$work/memory.1"
refused "the picture names a line that is no sample" "memory.1, line 1: expected seven numbers" \
    bash -c 'draw "$work/memory.0" "$work/memory.1"'
refused "the picture names a file that is not there" "memory.2 cannot be read" bash -c 'draw "$work/memory.2"'
refused "check names the suites" "no suite 'nonsense'; there are: unit" ./check nonsense
