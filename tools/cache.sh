# SPDX-License-Identifier: MIT
# Manages the cache folder of quickstart and check: its keys and the builds in it. Sourced after common.sh by a
# script that has set `top` to the checkout. Bash.
#
#   checkout/             copy of what is built, with configure; the checkout itself stays clean
#   plain/ asan/ tsan/    builds of the library and its tests
#   source/               MPICH's source
#   mpich-VERSION-KEY/    tree/ build/ of MPICH and install/, library and MPICH installed
#   log/                  one log per step
#
# KEY covers what makes MPICH compile from the start: patches, flags, compiler, libfabric. It does not cover library
# and netmod: they change often, and MPICH's makefiles find out what to compile again. `install/.key` covers
# everything and says whether there is something to do.

cache=${BUFENLARGE_CACHE:-${XDG_CACHE_HOME:-${HOME:?there is no HOME, so set BUFENLARGE_CACHE}/.cache}/bufenlarge}
mkdir -p "$cache/log" 2>/dev/null || die "cannot make the cache folder $cache; set BUFENLARGE_CACHE to another one"
cache=$(absolute_dir "$cache")
logs=$cache/log
jobs=$(nproc)

# cache_lock exclusive|shared: only one run at a time may change the cache; any number may use it.
cache_lock() {
    exec 9>>"$cache/lock"
    flock --nonblock "--$1" 9 && return 0
    note "another run uses $cache; waiting for it, for an hour at most"
    flock --timeout 3600 "--$1" 9 || die "$cache/lock was held by another run for an hour"
}

# Prints the names of the files that the product is built from, relative to the checkout: without the tools that only
# run it or test it.
product_files() {
    local tool other=()
    for tool in suite mpich-suite counted.sh demonstrate catch-run source-files '*.o' '*.a' '*.log' '*~' '.*'; do
        other+=(! -name "$tool")
    done
    (cd "$top" && find autogen.sh configure.ac Makefile.am bufenlarge.pc.in docs/man m4 src mpich-patches tools \
        -type f ! -path 'tools/rdma-vm*' ! -path '*/.d*' "${other[@]}")
}

# Prints all files of the tree, as a release archive has them. A copy without git and without MANIFEST has no such
# list: it can be built and tested, but not packed.
all_files() { "$top/tools/source-files" "$top" --with-new 2>/dev/null || true; }

test_files() {
    (cd "$top" && find test -type f ! -name '*.o' ! -name '*.log' ! -name '*.trs' ! -path '*/.d*' ! -name '*~')
}

compiler_version() { "${CXX:-g++}" --version 2>/dev/null | sed -n 1p; }

# Prints a key even where libfabric or the compiler is missing, so that the commands work on a bare machine.
mpich_key() {
    local library
    library=$(pkg-config --modversion libfabric 2>/dev/null) || library=none
    {
        (cd "$top/mpich-patches/$mpich_patches" && patches_of . | xargs cat)
        "$top/tools/mpich-build" --quick --print-flags
        printf '%s\n' "$library" "$(compiler_version)" "${CXX-} ${CXXFLAGS-} ${CC-} ${CFLAGS-}"
    } | digest_of_text
}

product_key() {
    { product_files | (cd "$top" && digest_of_files); mpich_key; } | digest_of_text
}

# The version of the source package mpich of this release of Debian or Ubuntu, and whose patches it gets. A test names
# another folder than /etc.
release=$(. "${BUFENLARGE_ETC:-/etc}/os-release" 2>/dev/null &&
    printf '%s' "${VERSION_CODENAME:-${PRETTY_NAME-}}") || release=''
release_is_known=yes
case $release in
    bookworm) mpich_version=4.0.2 mpich_patches=4.0.2 ;;
    trixie) mpich_version=4.2.1 mpich_patches=4.2.1 ;; # its package 4.3.0+really4.2.1
    noble) mpich_version=4.2.0 mpich_patches=4.2.1 ;;
    *) mpich_version=4.0.2 mpich_patches=4.0.2 release_is_known=no ;; # these name folders; build_mpich refuses it
esac
mpich_dir() { printf '%s\n' "$cache/mpich-$mpich_version-$(mpich_key)"; }

# A tree in which autogen.sh was run lists its output among its files, so the next tree's list removes it here.
has_autotools_output() {
    local name
    for name in configure aclocal.m4 Makefile.in build-aux/missing build-aux/install-sh build-aux/test-driver; do
        [ -e "$cache/checkout/$name" ] || return 1
    done
}

# Copies the files whose content has changed, so that make sees no others.
update_checkout() {
    local list=$cache/checkout.files name
    { product_files && test_files && all_files; } | LC_ALL=C sort -u >"$list.new"
    copy_changed_files "$top" "$cache/checkout" <"$list.new"
    if [ -e "$list" ]; then
        LC_ALL=C comm -23 "$list" "$list.new" | while IFS= read -r name; do rm -f "$cache/checkout/$name"; done
    fi
    mv "$list.new" "$list"
    all_files >"$list.manifest"
    put_if_changed "$list.manifest" "$cache/checkout/MANIFEST"
    has_autotools_output || step "$logs/autogen.log" 300 "library: autogen.sh" "$cache/checkout/autogen.sh"
}

# library_configure FLAVOUR FLAGS...: configures unless that was done before with these flags, this compiler and this
# version of Catch2: without Catch2 there are no test programs.
library_configure() {
    local flavour=$1 key
    shift
    key=$({
        printf '%s\n' "$@" "${CXX-} ${CXXFLAGS-} ${CC-} ${CFLAGS-}" \
            "$(pkg-config --modversion catch2 2>/dev/null || echo none)"
        compiler_version
    } | digest_of_text)
    [ "$(cat "$cache/$flavour/.key" 2>/dev/null)" != "$key" ] || return 0
    mkdir -p "$cache/$flavour"
    step "$logs/$flavour-configure.log" 300 "library ($flavour): configure" \
        env -C "$cache/$flavour" "$cache/checkout/configure" "$@"
    printf '%s\n' "$key" >"$cache/$flavour/.key"
}

# library_make FLAVOUR TARGET...
library_make() {
    local flavour=$1
    shift
    step "$logs/$flavour-make.log" 1800 "library ($flavour): make $*" make -C "$cache/$flavour" "-j$jobs" "$@"
}

# Prints the flags of the plain build: it is configured for the MPICH that is built from it, if the source is there.
plain_flags() {
    local dir
    dir=$(mpich_dir)
    printf '%s\n' "--prefix=$dir/install"
    if [ -e "$cache/source/unpacked" ]; then
        printf '%s\n' "--with-mpich-source=$cache/source/$(cat "$cache/source/unpacked")"
    fi
}

# test_programs FLAVOUR OPTIMIZATION PROGRAM...: makes them, optimized only as far as they need: most of the compiler's
# time goes into the tests, and a test runs for milliseconds. The simulator runs for minutes, so it gets the next level.
test_programs() {
    local flavour=$1 least=$2 program level
    shift 2
    for program in "$@"; do
        level=$least
        [ "$program" != sim_tests ] || level=$((least + 1))
        library_make "$flavour" "CXXFLAGS=-g1 -O$level" "$program"
    done
}

# build_plain [TEST_PROGRAM...]: the library, the commands, and these programs.
build_plain() {
    local flags
    mapfile -t flags < <(plain_flags)
    update_checkout
    library_configure plain "${flags[@]}"
    library_make plain all
    test_programs plain 1 "$@"
}

# build_sanitized asan|tsan [TEST_PROGRAM...]
# A finding needs names and lines; what -g tells more takes a quarter of the compiler's time.
build_sanitized() {
    local flavour=$1 sanitizer=thread
    shift
    [ "$flavour" = tsan ] || sanitizer=address,undefined
    update_checkout
    library_configure "$flavour" "--enable-sanitizer=$sanitizer" "CXXFLAGS=-g1 -O1"
    library_make "$flavour" all
    test_programs "$flavour" 0 "$@"
}

build_packages=(g++ make autoconf automake pkg-config libfabric-dev libxxhash-dev libsodium-dev)
test_packages=(catch2 python3)
page_packages=(mandoc)
report_packages=(python3 chromium)
cut_packages=(nftables iproute2)
slurm_packages=(slurmctld slurmd slurm-client munge)
fuzz_packages=(clang)
race_packages=(valgrind)
mpich_packages=(gcc perl patch m4 libhwloc-dev xz-utils jq python3)

need_packages() { "$top/tools/debian-packages" "$logs/packages.log" "$@" </dev/null; }

# Builds and installs library and MPICH unless they are up to date. Prints nothing on standard output.
build_mpich() {
    local dir key source_dir
    [ "$release_is_known" = yes ] ||
        die "the MPICH of the release '$release' is not known; known are bookworm and trixie of Debian and noble of" \
            "Ubuntu; use ./configure --with-mpich-source as README.md says"
    need_packages "${build_packages[@]}" "${mpich_packages[@]}"
    dir=$(mpich_dir)
    key=$(product_key)
    if [ "$(cat "$dir/install/.key" 2>/dev/null)" = "$key" ]; then
        note "library and MPICH: up to date in $dir/install"
        return 0
    fi
    source_dir=$("$top/tools/mpich-fetch" "$cache/source" "$logs")
    [ "$("$top/tools/mpich-version" "$source_dir" "$top/mpich-patches")" = "$mpich_version $mpich_patches" ] ||
        die "Debian's source package is not MPICH $mpich_version but ${source_dir##*/};" \
            "build that with ./configure --with-mpich-source"
    rm -f "$dir/install/.key"
    build_plain
    step "$logs/mpich.log" 7200 "library and MPICH: make mpich" \
        make -C "$cache/plain" "-j$jobs" mpich "MPICH_WORK=$dir" MPICH_PARTS=--quick
    printf '%s\n' "$key" >"$dir/install/.key"
}

# Does the same, in install-vcis, for an MPICH with up to four VCIs and a lock for each.
build_mpich_vcis() {
    local dir key
    build_mpich
    dir=$(mpich_dir)
    key=$(product_key)
    [ "$(cat "$dir/install-vcis/.key" 2>/dev/null)" != "$key" ] || return 0
    step "$logs/mpich-vcis.log" 7200 "MPICH with several VCIs" \
        "$top/tools/mpich-build" --tree "$dir/tree" --build "$dir/build-vcis" --prefix "$dir/install-vcis" \
        --library "$dir/install" --quick --flags "--enable-thread-cs=per-vci --with-ch4-max-vcis=4" \
        --logs "$dir/logs-vcis"
    printf '%s\n' "$key" >"$dir/install-vcis/.key"
}
