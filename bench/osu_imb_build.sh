# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Which benchmarks the user's folders have, and how they are built beside them; sourced by bench/osu-imb.

# look_at_osu: the benchmarks of MPI that print a table: a file osu_NAME.c with a main().
# shellcheck disable=SC2154
look_at_osu() {
    local file
    osu=$(absolute_dir "$osu")
    while IFS= read -r file; do
        source_of[$(basename "$file" .c)]=$file
    done < <(find "$osu" -name 'osu_*.c' -not -path '*/openshmem/*' -not -path '*/upc*/*' -not -path '*/xccl/*' \
        -not -path '*/startup/*' -exec grep -l '\<main *(' {} + | LC_ALL=C sort)
    [ ${#source_of[@]} -gt 0 ] || die "--osu: no osu_*.c with a main() in $osu: not the OSU micro-benchmarks"
    if [ ! -x "$osu/configure" ] && [ -e "$osu/configure.ac" ]; then
        die "--osu: $osu has configure.ac and no configure; make it with autoreconf -i"
    fi
    known_osu=$(printf '%s\n' "${!source_of[@]}" | LC_ALL=C sort | paste -s -d ' ')
}

# look_at_imb: the names that IMB-MPI1 knows.
look_at_imb() {
    local list
    imb=$(absolute_dir "$imb")
    list=$imb/src_c/IMB_bnames_mpi1.h
    if [ ! -e "$list" ] || [ ! -e "$imb/src_cpp/Makefile" ]; then
        die "--imb: no src_c/IMB_bnames_mpi1.h and src_cpp/Makefile in $imb:" \
            "not the Intel MPI Benchmarks of 2019 or later"
    fi
    known_imb=$(sed -n 's/^[[:space:]]*"\([A-Z][A-Za-z_]*\)",\{0,1\}[[:space:]]*$/\1/p' "$list" |
        awk '!seen[$0]++' | paste -s -d ' ')
    [ -n "$known_imb" ] || die "--imb: $list names no benchmark"
}

# choose_benchmarks: sets `chosen` from --benchmarks, or to those of the default that there are.
# shellcheck disable=SC2034,SC2154
choose_benchmarks() {
    local name
    chosen=()
    if [ -z "$benchmarks" ]; then
        for name in $default_osu $default_imb; do
            [[ " $known_osu $known_imb " != *" $name "* ]] || chosen+=("$name")
        done
        [ ${#chosen[@]} -gt 0 ] || die "none of the default benchmarks is there; name some with --benchmarks:" \
            "$known_osu $known_imb"
        return 0
    fi
    for name in ${benchmarks//,/ }; do
        [[ " $known_osu $known_imb " == *" $name "* ]] ||
            die "--benchmarks: there is no '$name';" \
                "${known_osu:+of OSU there are: $known_osu;} ${known_imb:+of Intel there are: $known_imb}"
        [[ " ${chosen[*]-} " == *" $name "* ]] || chosen+=("$name")
    done
}

question_of() {
    case $1 in
        osu_*) printf '%s\n' "$1" ;;
        *) printf 'imb_%s\n' "$1" ;;
    esac
}

# ranks_of BENCHMARK: OSU's of two sides want exactly two processes; Intel's PingPong and PingPing use two.
# shellcheck disable=SC2154
ranks_of() {
    case $1 in
        osu_mbw_mr | osu_multi_lat | osu_bw_fan_* | osu_*_mbw | osu_*_multi_lat) echo "$ranks" ;;
        osu_bw* | osu_bibw* | osu_latency* | osu_put_* | osu_get_* | osu_*acc_latency | osu_cas_* | osu_fop_*) echo 2 ;;
        PingPong* | PingPing*) echo 2 ;;
        *) echo "$ranks" ;;
    esac
}

build_osu() {
    if [ -x "$osu/configure" ]; then make_osu "$@"; else compile_osu "$@"; fi
}

# build_all NAME: into WORK/NAME, a program or a link of the benchmark's name for each that was chosen.
# shellcheck disable=SC2154
build_all() {
    local name=$1 benchmark
    mkdir -p "$work/$name"
    for benchmark in "${chosen[@]}"; do
        [ ! -x "$work/$name/$benchmark" ] || continue
        case $benchmark in
            osu_*) build_osu "$name" "$benchmark" ;;
            *) make_imb "$name" && ln -sfn "$work/$name/imb/src_cpp/IMB-MPI1" "$work/$name/$benchmark" ;;
        esac
    done
}

# out_of_tree: the folder to configure from: the user's, or a clean copy where his is configured in place.
out_of_tree() {
    [ -e "$osu/config.status" ] || { printf '%s\n' "$osu" && return 0; }
    if [ ! -d "$work/source" ]; then
        cp -R "$osu" "$work/source"
        step "$out/logs/clean-osu.log" 120 "cleaning a copy of OSU's folder" make -C "$work/source" distclean
    fi
    printf '%s\n' "$work/source"
}

# make_osu NAME BENCHMARK: by OSU's own configure and Makefile, which need not be newer than what they are made from.
make_osu() {
    local name=$1 benchmark=$2 build=$work/$1/osu folder from
    folder=$(dirname "${source_of[$benchmark]#"$osu/"}")
    if [ ! -e "$build/Makefile" ]; then
        from=$(out_of_tree)
        rm -rf "$build"
        mkdir -p "$build"
        step "$out/logs/configure-$name-osu.log" 600 "configuring OSU's benchmarks for $name" \
            env -C "$build" "$from/configure" "CC=${mpicc_of[$name]}" "CXX=${mpicxx_of[$name]:-c++}"
    fi
    step "$out/logs/compile-$name-$benchmark.log" 300 "compiling $benchmark for $name" \
        make -C "$build/$folder" ACLOCAL=: AUTOCONF=: AUTOHEADER=: AUTOMAKE=: "$benchmark"
    ln -sfn "$build/$folder/$benchmark" "$work/$name/$benchmark"
}

# compile_osu NAME BENCHMARK: without a configure: the file, and those beside it and in util that are no program.
compile_osu() {
    local name=$1 benchmark=$2 folder helpers=() file
    folder=$(dirname "${source_of[$benchmark]}")
    while IFS= read -r file; do helpers+=("$file"); done < <(
        find "$folder" "$osu/util" "$osu/c/util" -maxdepth 1 -name 'osu_*.c' -not -name '*_pgas.c' \
            -exec grep -L '\<main *(' {} + 2>/dev/null | LC_ALL=C sort -u)
    step "$out/logs/compile-$name-$benchmark.log" 300 "compiling $benchmark for $name" \
        "${mpicc_of[$name]}" -O2 "-I$folder" "-I$osu/util" "-I$osu/c/util" -o "$work/$name/$benchmark" \
        "${source_of[$benchmark]}" "${helpers[@]}" -lm -lpthread
}

# make_imb NAME: Intel's Makefile writes beside the sources, so that a copy of them is built, once for all of them.
make_imb() {
    local name=$1 build=$work/$1/imb
    [ ! -x "$build/src_cpp/IMB-MPI1" ] || return 0
    rm -rf "$build"
    mkdir -p "$build"
    cp -R "$imb/src_c" "$imb/src_cpp" "$build/"
    find "$build" -name '*.o' -delete
    rm -f "$build"/src_cpp/IMB-*
    # A warning that its authors' compiler did not have is to stop nobody.
    sed -i 's/ -Werror//' "$build/src_cpp/Makefile"
    step "$out/logs/compile-$name-imb.log" 900 "compiling Intel's benchmarks for $name" \
        make -j "$(nproc)" -C "$build/src_cpp" TARGET=MPI1 "CC=${mpicc_of[$name]}" "CXX=${mpicxx_of[$name]}"
}
