# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Which MPICH ./quickstart and ./check take on a release of Debian or Ubuntu, and from which sources of apt; sourced by
# run. A folder of test/build/releases stands for the /etc of each; apt-get is a script.

releases=$PWD/test/build/releases
apt=$work/apt
mkdir -p "$apt/bin"
# The first call is update, and keeps the sources that it is to read; the second makes the package of an MPICH.
echo '#!/bin/sh' >"$apt/bin/apt-get"
cat >>"$apt/bin/apt-get" <<'END'
set -eu
for argument; do
    case $argument in
        Dir::Etc::sourcelist=*) list=${argument#*=} ;;
        Dir::Etc::sourceparts=*) parts=${argument#*=} ;;
        update) cat "$list" "$parts"/* >"$APT_READ" ;;
        source) mkdir mpich-1.2.3 && tar -cf mpich_1.2.3.orig.tar.xz mpich-1.2.3 && rmdir mpich-1.2.3 ;;
    esac
done
END
chmod +x "$apt/bin/apt-get"

# on RELEASE COMMAND...: runs a command as on this release.
on() {
    env -u BUFENLARGE_STARTED "PATH=$apt/bin:$PATH" "BUFENLARGE_ETC=$releases/$1" "BUFENLARGE_CACHE=$apt/cache" \
        "APT_READ=$apt/read" "${@:2}"
}
export -f on
export releases apt

# taken RELEASE: prints the version and the folder of patches, and the folder of the cache that it is built in.
taken() {
    on "$1" bash -c 'set -euo pipefail; top=$1; . tools/common.sh; . tools/cache.sh
        printf "%s %s " "$mpich_version" "$mpich_patches"; mpich_dir | sed "s|.*/||; s|-[^-]*\$||"' sh "$PWD" 2>&1
}
while read -r release version patches; do
    report "$release has MPICH $version and gets the patches of $patches" "$(
        diff <(echo "$version $patches mpich-$version") <(taken "$release") || true)"
    mkdir -p "$apt/source/maint"
    printf 'm4_define([MPICH_VERSION_m4],[%s])dnl\n' "$version" >"$apt/source/maint/version.m4"
    report "as configure does for this version" "$(
        diff <(echo "$version $patches") <(tools/mpich-version "$apt/source" mpich-patches 2>&1) || true)"
    report "apt reads the sources of $release's own suites, with deb-src for deb" "$(
        rm -rf "$apt/fetched" "$apt/read"
        diff <(echo "$apt/fetched/mpich-1.2.3") \
            <(on "$release" tools/mpich-fetch "$apt/fetched" "$apt/logs" 2>"$apt/errors") || cat "$apt/errors"
        diff "$releases/$release/expected-sources.list" "$apt/read" || true)"
done <<'END'
debian-12 4.0.2 4.0.2
debian-13 4.2.1 4.2.1
ubuntu-24.04 4.2.0 4.2.1
END

known="known are bookworm and trixie of Debian and noble of Ubuntu; use ./configure --with-mpich-source"
refused "quickstart refuses another release by its codename, and says which it knows" \
    "the MPICH of the release 'forky' is not known; $known" bash -c 'on unknown ./quickstart'
refused "it refuses by its title one that has no codename" \
    "the MPICH of the release 'Fedora Linux 41 (Server Edition)' is not known; $known" bash -c 'on unnamed ./quickstart'
refused "and a machine that does not say what it is" \
    "the MPICH of the release '' is not known; $known" bash -c 'on nowhere ./quickstart'
report "what needs no MPICH goes on there" "$(diff <(echo "4.0.2 4.0.2 mpich-4.0.2") <(taken unknown) || true)"
refused "a release without a source of its own suites is refused" \
    "no entry for Debian (forky forky-updates forky-security, main or universe) in /etc/apt/sources.list" \
    bash -c 'on unknown tools/mpich-fetch "$apt/none" "$apt/logs"'
for release in unnamed nowhere; do
    refused "and one without a codename ($release)" "/etc/os-release does not name the release of Debian" \
        bash -c "on $release tools/mpich-fetch '$apt/none' '$apt/logs'"
done
