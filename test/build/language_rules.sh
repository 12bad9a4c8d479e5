# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Which languages of MPICH tools/mpich-build has built, with which compilers, and how the compilers that configure is
# given come to it; sourced by run. The compilers are empty scripts on a PATH that has no others, and so is MPICH's
# configure, but for the names that autoconf makes it look for.

languages=$work/languages
tree=$languages/tree
mkdir -p "$languages/programs" "$languages/lib/pkgconfig" "$tree/.bufenlarge"
for program in bash cat cut dirname env grep mkdir nproc realpath sed sh sha256sum sleep tail timeout; do
    ln -s "$(command -v "$program")" "$languages/programs/$program"
done
touch "$languages/lib/libbufenlarge.a" "$tree/.bufenlarge/autotools"
echo 'Libs: -lbufenlarge' >"$languages/lib/pkgconfig/bufenlarge.pc"
printf '%s\n' 'AC_INIT([languages], [1])' AC_PROG_CXX AC_PROG_FC AC_OUTPUT >"$languages/configure.ac"
(cd "$languages" && timeout 120 autoconf)
echo '#!/bin/sh' >"$tree/configure"
cat - "$languages/configure" >>"$tree/configure" <<'END'
for argument; do
    case $argument in FC=* | F77=* | CXX=* | FFLAGS=* | FCFLAGS=* | *-fortran* | *-cxx*) echo "$argument" ;; esac
done
[ -z "${CC+set}${CXX+set}" ] || echo "in the environment: CC=${CC-} CXX=${CXX-}"
exit 0
END
chmod +x "$tree/configure"
# The names that autoconf's macros look for, of which this is the first.
names_from() {
    awk -v first="$1" '$1 == "for" && $4 == first { for (i = 4; i <= NF; i++) print $i; exit }' "$tree/configure"
}

# there COMPILER...: makes a PATH with these compilers. NAME:new is a gfortran of GNU, NAME:old one that refuses flags.
there() {
    local name file
    rm -rf "$languages/compilers" && mkdir "$languages/compilers"
    for name in "$@"; do
        file=$languages/compilers/${name%:*}
        echo '#!/bin/sh' >"$file" && chmod +x "$file"
        case $name in
            *:new) echo '[ "$1" != --version ] || echo GNU Fortran' >>"$file" ;;
            *:old) echo '[ "$1" = --version ] && echo GNU Fortran' >>"$file" ;;
        esac
    done
}

# mpich_build FLAGS ARGUMENT...: runs the tool; arguments like NAME=VALUE are variables of its environment.
mpich_build() {
    local flags=$1 variables=()
    shift
    while [[ ${1-} == *=* ]]; do variables+=("$1") && shift; done
    env -i "PATH=$languages/compilers:$languages/programs" "${variables[@]}" tools/mpich-build --configure-only \
        --tree "$tree" --build "$languages/build" --prefix "$languages/prefix" --library "$languages" \
        --logs "$languages/logs" --flags "$flags" "$@" 2>&1 </dev/null
}

# decided FLAGS ARGUMENT...: prints what it says of languages, and what MPICH's configure got.
decided() {
    rm -rf "$languages/build" "$languages/logs"
    mpich_build "$@" | sed -n 's/.* MPICH: builds \|.*error: //p'
    [ ! -e "$languages/logs/configure.log" ] || cat "$languages/logs/configure.log"
}

# decides TEXT FLAGS ARGUMENT...: what it prints has to be what standard input has.
decides() {
    local text=$1
    shift
    report "$text" "$(diff - <(decided "$@") || true)"
}

report "each Fortran compiler of autoconf is enough, and configure finds it" "$(
    names_from gfortran | grep -c . | grep -vx '[2-9][0-9]' || true
    for name in $(names_from gfortran); do
        there g++ "$name"
        diff <(echo "C, C++ by g++ (on PATH), Fortran by $name (on PATH)") <(decided '') || true
    done)"
report "each C++ compiler of autoconf is, too" "$(
    names_from g++ | grep -c . | grep -vx '1[0-9]' || true
    for name in $(names_from g++); do
        there "$name" gfortran
        diff <(echo "C, C++ by $name (on PATH), Fortran by gfortran (on PATH)") <(decided '') || true
    done)"
report "configure is told of other Fortran compilers" "$(
    for name in ifx flang nvfortran flang-new armflang amdflang crayftn; do
        there g++ "$name"
        diff <(printf '%s\n' "C, C++ by g++ (on PATH), Fortran by $name (on PATH)" "FC=$name" "F77=$name") \
            <(decided '') || true
    done)"
report "configure is told of other C++ compilers" "$(
    for name in icpx nvc++ armclang++ amdclang++ icpc pgc++; do
        there "$name" gfortran
        diff <(printf '%s\n' "C, C++ by $name (on PATH), Fortran by gfortran (on PATH)" "CXX=$name") \
            <(decided '') || true
    done)"

there ifx f95 nvc++ c++
decides "the one that configure finds comes first" '' <<<"C, C++ by c++ (on PATH), Fortran by f95 (on PATH)"
there
decides "languages without a compiler are left out" '' <<'END'
C; no C++ (CXX names no compiler, and none is on PATH); no Fortran (FC names no compiler, and none is on PATH)
--disable-cxx
--disable-fortran
END
decides "a language that is asked for needs one" --enable-fortran \
    <<<"--enable-fortran needs a compiler, but FC names none, and none is on PATH"
there g++ gfortran ifx icpx ccache
decides "FC and CXX of the environment come before what is on PATH" '' FC=ifx CXX=icpx <<'END'
C, C++ by icpx (CXX), Fortran by ifx (FC)
in the environment: CC= CXX=icpx
END
decides "those of the flags come before them" "FC=ifx CXX=icpx" FC=gfortran CXX=g++ <<'END'
C, C++ by icpx (CXX), Fortran by ifx (FC)
FC=ifx
CXX=icpx
in the environment: CC= CXX=g++
END
decides "a compiler may have several words" '' CC="ccache gcc" CXX="ccache g++" FC="ccache gfortran" <<'END'
C by ccache gcc (CC), C++ by ccache g++ (CXX), Fortran by ccache gfortran (FC)
in the environment: CC=ccache gcc CXX=ccache g++
END
decides "what is set to nothing is not set" '' CC= CXX= FC= <<<"C, C++ by g++ (on PATH), Fortran by gfortran (on PATH)"
decides "F77 alone names the compiler, too, and configure is told of it" '' F77="ccache ifx" <<'END'
C, C++ by g++ (on PATH), Fortran by ccache ifx (F77)
FC=ccache ifx
END
decides "the last flag decides what is left out" \
    "--disable-fortran --enable-cxx=no --enable-cxx --enable-fortran=no" <<'END'
C, C++ by g++ (on PATH); no Fortran (--enable-fortran=no)
--disable-fortran
--enable-cxx=no
--enable-cxx
--enable-fortran=no
END
decides "--quick leaves both out, whatever is named" '' FC=nothing CXX=nothing --quick <<'END'
C; no C++ (--disable-cxx); no Fortran (--disable-fortran)
--disable-fortran
--disable-cxx
in the environment: CC= CXX=nothing
END
decides "but what the flags ask for" --enable-fortran --quick <<'END'
C, Fortran by gfortran (on PATH); no C++ (--disable-cxx)
--disable-fortran
--disable-cxx
--enable-fortran
END
decides "a compiler that is not there is refused" '' FC="ftn -O1" \
    <<<"FC='ftn -O1' names no program; set another one, or leave Fortran out by --disable-fortran"
there g++ gfortran:old
decides "GNU's gfortran gets no flag that it refuses" '' <<<"C, C++ by g++ (on PATH), Fortran by gfortran (on PATH)"
there g++ gfortran:new ifx
decides "GNU's gfortran gets the flag that MPICH 4.0 needs" '' FFLAGS=-g <<'END'
C, C++ by g++ (on PATH), Fortran by gfortran (on PATH)
FFLAGS=-g -fallow-argument-mismatch
FCFLAGS=-fallow-argument-mismatch
END
decides "another compiler does not, with gfortran beside it" FC=ifx <<'END'
C, C++ by g++ (on PATH), Fortran by ifx (FC)
FC=ifx
END

# configures_again VARIABLE...: whether the tool runs MPICH's configure once more in a folder where it has.
configures_again() {
    rm -f "$languages/logs/configure.log"
    mpich_build '' "$@" >/dev/null
    [ -e "$languages/logs/configure.log" ]
}
decided '' FC=gfortran >/dev/null
report "MPICH is configured again for another compiler, and only then" "$(
    ! configures_again FC=gfortran || echo "again for the same"
    configures_again FC=ifx || echo "not for another FC"
    configures_again FC=ifx CXX="g++ -g" || echo "not for another CXX"
    ! configures_again FC=ifx CXX="g++ -g" || echo "again for the same CXX")"

# The target mpich with the variables that configure has set, and tools that only tell their environment.
given=$languages/given
mkdir -p "$given/tools"
printf '%s\n' '#!/bin/sh' 'echo "CC=${CC-}, CXX=${CXX-}, FC=${FC-}" >told' >"$given/tools/mpich-build"
printf '%s\n' '#!/bin/sh' | tee "$given/tools/mpich-tree" >"$given/bufenlarge_info"
chmod +x "$given"/tools/* "$given/bufenlarge_info"
configure=$(sed -n 's/^srcdir = //p' "$build/Makefile")
configure=$(cd "$build" && cd "$configure" && pwd)/configure
# told VARIABLE... [-- ARGUMENT...]: what MPICH's configure is told after a configure with the variables and a
# make mpich with the arguments.
told() {
    local variables=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do variables+=("$1") && shift; done
    rm -f "$given/told"
    (cd "$given" && env -u CC -u CXX -u FC timeout 300 "$configure" "${variables[@]}" >configure.log 2>&1) || true
    { grep -E '^(CC|CXX|MKDIR_P|MPICH_[A-Z_]*) = ' "$given/Makefile"; printf 'srcdir = .\ninstall:\n'
        sed -n '/^mpich: install/,/^$/p' Makefile.am; } >"$given/mpich.mk"
    env -u CC -u CXX -u FC make -C "$given" -f mpich.mk mpich MPICH_SOURCE=. "${@:2}" >"$given/make.log" 2>&1 || true
    cat "$given/told" 2>/dev/null || tail -n 3 "$given/configure.log" "$given/make.log"
}
report "make mpich hands on the compilers that configure was given, and make before them" "$(
    diff <(echo "CC=env gcc, CXX=env g++, FC=env gfortran") \
        <(told CC="env gcc" CXX="env g++" FC="env gfortran") || true
    diff <(echo "CC=icx, CXX=, FC=") <(told -- CC=icx) || true)"
