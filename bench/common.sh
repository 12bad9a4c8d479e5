# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Shared by the bench scripts; sourced, never run. Bash.
#
# Sets `top`; gives die, note and step (tools/common.sh), the two MPICH installations to compare, the
# compiled programs, the environment in which a job of one of the two is started, and the raw figures' header.

# All ranks are on this machine: loopback for both, unless the caller says otherwise.
export MPIR_CVAR_BUFENLARGE_INTERFACE="${MPIR_CVAR_BUFENLARGE_INTERFACE-lo}" FI_TCP_IFACE="${FI_TCP_IFACE-lo}"

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=../tools/common.sh
. "$top/tools/common.sh"

# The programs are compiled by each MPICH's own mpicc; nothing else differs between the two.
# compile_for NAME PREFIX WORK PROGRAM...: into WORK/NAME; the log is where the script's `out` says.
# shellcheck disable=SC2154
compile_for() {
    local name=$1 prefix=$2 work=$3 program
    shift 3
    mkdir -p "$work/$name"
    for program in "$@"; do
        # MPICH 4.0's header makes gcc 12 take MPI_STATUSES_IGNORE for an array.
        step "$out/logs/compile-$name-$program.log" 120 "compiling $program for $name" \
            "$prefix/bin/mpicc" -O2 -Wall -Wextra -Wno-stringop-overflow \
            -o "$work/$name/$program" "$top/bench/$program.c"
    done
}

# compile_contexts PROGRAM PREFIX LOG SOURCE...: a program of the library alone, with many contexts in a process.
compile_contexts() {
    local program=$1 from=$2 log=$3
    shift 3
    [ -e "$from/lib/libbufenlarge.a" ] || die "no lib/libbufenlarge.a in $from"
    mkdir "$program.objects"
    # shellcheck disable=SC2016
    step "$log" 120 "compiling $(basename "$program")" sh -c '
        program=$1 from=$2 && cd "$3" && shift 3 &&
        gcc -O2 -Wall -Wextra -I"$from/include" -c "$@" &&
        g++ -o "$program" ./*.o "$from/lib/libbufenlarge.a" $(pkg-config --libs libfabric libsodium) -lpthread' \
        sh "$program" "$from" "$program.objects" "${@/#/$top/bench/}" "$top/bench/many_contexts.c"
}

# Two processors for the two ranks, on different cores where there is a choice.
two_processors() {
    local allowed first='' processor siblings
    mapfile -t allowed < <(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | tr ',' '\n' |
        awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
    for processor in "${allowed[@]}"; do
        if [ -z "$first" ]; then
            first=$processor
            siblings=/sys/devices/system/cpu/cpu$first/topology/thread_siblings_list
        elif ! [ -r "$siblings" ] || ! grep -qx "$processor" <<<"$(tr ',-' '\n' <"$siblings")"; then
            printf '%s %s\n' "$first" "$processor"
            return 0
        fi
    done
    die "two processors on different cores are needed; allowed: ${allowed[*]}"
}

# environment_of NAME: variables that choose the paths compared. The fabric is the tcp provider for
# all; shared memory is off. Settings of bufenlarge itself come from the caller's environment.
environment_of() {
    printf '%s\n' MPIR_CVAR_NOLOCAL=1
    case $("${prefix_of[$1]}/bin/mpichversion" | grep 'Device:') in
        *ch4:bufenlarge*) printf '%s\n' MPIR_CVAR_BUFENLARGE_PROVIDER=tcp ;;
        *) printf '%s\n' 'FI_PROVIDER=tcp;ofi_rxm' ;;
    esac
}

compiler_of() {
    mpich_says "${prefix_of[$1]}" CC
}

# find_prefix: sets prefix where the caller gave none, and `commit`, the commit that is measured.
commit="unknown: --prefix was given"
find_prefix() {
    [ -z "$prefix" ] || return 0
    prefix=$("$top/quickstart" --print-prefix)
    # Nobody is to install another one into it while it is measured.
    . "$top/tools/cache.sh"
    cache_lock shared
    if [ "$(product_key)" != "$(cat "$prefix/.key")" ]; then
        commit="unknown: ./quickstart has not built this checkout"
        note "warning: what is measured was not built from this checkout; ./quickstart builds it"
    else
        commit=$(git -C "$top" describe --always --dirty --abbrev=10 2>/dev/null) || commit="unknown: no git checkout"
    fi
}

# find_prefixes: fills prefix_of from the script's variables prefix, ofi_prefix and devices.
declare -A prefix_of
find_prefixes() {
    find_prefix
    [ -n "$ofi_prefix" ] || ofi_prefix=$("$top/bench/build-ofi" --like "$prefix")
    prefix_of[bufenlarge]=$(absolute_dir "$prefix")
    prefix_of[ofi]=$(absolute_dir "$ofi_prefix")
    check_prefix "${prefix_of[bufenlarge]}" "${devices% *}"
    check_prefix "${prefix_of[ofi]}" "${devices#* }"
    [ "$(compiler_of bufenlarge)" = "$(compiler_of ofi)" ] ||
        note "warning: compiled differently: '$(compiler_of bufenlarge)' and '$(compiler_of ofi)'"
}

# ticks: three counts of processor time: what all processes and the hypervisor's other guests took,
# what this script's commands took, and all there was.
ticks() {
    awk 'FILENAME == "/proc/stat" && $1 == "cpu" {
             all = $2 + $3 + $4 + $7 + $8 + $9
             for (i = 2; i <= 9; i++) sum += $i
         }
         FILENAME != "/proc/stat" { sub(/.*\) /, ""); own = $12 + $13 + $14 + $15 }
         END { print all, own, sum }' /proc/stat "/proc/$$/stat"
}

# shown_arguments ARGUMENT...: the script's arguments, without those that name places on this machine.
shown_arguments() {
    while [ $# -gt 0 ]; do
        case $1 in
            --prefix | --ofi-prefix | --ofi | --before | --out) shift ;;
            *) printf ' %s' "$1" ;;
        esac
        [ $# -eq 0 ] || shift
    done
}

# mpich_text NAME: version, device, compiler and flags of an MPICH, without the places of this machine.
mpich_text() {
    "${prefix_of[$1]}/bin/mpichversion" | awk -F ':[[:space:]]*' '
        { value = $0; sub(/^[^:]*:[[:space:]]*/, "", value) }
        $1 == "MPICH Version" { version = value }
        $1 == "MPICH Device" { device = value }
        $1 == "MPICH CC" { gsub(/[[:space:]]+/, " ", value); compiler = value }
        $1 == "MPICH configure" {
            n = split(value, words, " ")
            for (i = 1; i <= n; i++) if (words[i] !~ /\//) flags = flags " " words[i]
        }
        END { printf "MPICH %s, %s, compiled with %s, configured with%s\n", version, device, compiler, flags }'
}

# raw_header ARGUMENT...: the header of raw.tsv; the arguments are the script's own. README.md describes the format.
raw_header() {
    local name model settings
    model=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
    settings=$(env | grep '^\(MPIR_CVAR\|FI\)_' | sort | paste -s -d ' ')
    printf '# raw figures of bufenlarge, format 1\n'
    date -u '+# date%t%Y-%m-%d %H:%M UTC'
    printf '# commit\t%s\n' "$commit"
    printf '# machine\t%s%s processors, %s, %s\n' "${machine_prefix-}" "$(nproc)" "${model:-unknown}" "$(uname -srm)"
    printf '# command\tbench/%s%s\n' "$program" "$(shown_arguments "$@")"
    printf '# load at the start\t%s\n' "$(cat /proc/loadavg)"
    printf '# libfabric\t%s\n' "$(pkg-config --modversion libfabric)"
    for name in bufenlarge ofi; do
        [ -z "${prefix_of[$name]-}" ] || printf '# %s\t%s\n' "$name" "$(mpich_text "$name")"
    done
    printf '# settings\t%s\n' "$settings"
}
