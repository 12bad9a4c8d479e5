# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Cases in which one rank has another value of what has to be equal in all: MPI_Init has to tell it within seconds,
# not the first connection. Sourced. Bash.
# shellcheck disable=SC2154 # variables shared with run

wire_version() { sed -n 's/^#define BUFENLARGE_WIRE_VERSION //p' "$top/src/bufenlarge/bufenlarge.h"; }

unequal_cases() {
    local knob=MPIR_CVAR_BUFENLARGE version item refusal
    version=$(wire_version)
    refusal="cannot start: ${knob}_PROVIDER='verbs': libfabric offers no verbs endpoint"
    while IFS= read -r item; do
        echo "unequal/${item%% *}|unequal|${item#* }|20"
    done <<END
phases 2|demo|default PHASES 512,8192 256,8192 ${knob}_PHASES=512,8192/has ${knob}_PHASES=256,8192
slots 8|demo|default SLOTS 4,16,16 8,16,16 ${knob}_SLOTS=4,16,16/has ${knob}_SLOTS=8,16,16
shared-memory 8|demo|mixed SLOTS 4,16,16 8,16,16 ${knob}_SLOTS=4,16,16/has ${knob}_SLOTS=8,16,16
addresses 3|demo|default INTERFACE lo ::1 addresses IPv4/has addresses IPv6
provider 4|demo|default PROVIDER tcp verbs wire version $version, provider tcp/$refusal
END
    echo "unequal/wire-version|disagree|3|disagree|wire version/$version/99|20"
    echo "unequal/offer|disagree|3|disagree|provider/tcp/verbs|20"
    echo "unequal/protocol|disagree|3|disagree|protocol/FI_PROTO_SOCK_TCP/FI_PROTO_IWARP|20"
}

# The error that all ranks have to end MPI_Init with when rank $2 has the text $4 and rank $1 the text $3.
check_unequal() {
    local limit=$5 log=$6 host
    host=$(hostname)
    check_refusal "$limit" "$log" "rank $1 on $host has $3" "rank $2 on $host $4"
}

# case_unequal: ARGUMENTS is "SETTING KNOB VALUE VALUE TEXT/TEXT". The last rank has the second value of the knob.
case_unequal() {
    local ranks=$2 test_program=$work/bin/$3 setting knob one other texts words
    read -r setting knob one other texts <<<"$4"
    set_words "$setting"
    case $knob in CH4_*) knob=MPIR_CVAR_$knob ;; *) knob=MPIR_CVAR_BUFENLARGE_$knob ;; esac
    run_job "$6" "$5" "${words[@]}" "${mpiexec[@]}" -n $((ranks - 1)) -env "$knob" "$one" "$test_program" : \
        -n 1 -env "$knob" "$other" "$test_program"
    check_unequal 0 $((ranks - 1)) "${texts%%/*}" "${texts#*/}" "$5" "$6"
}

# case_disagree: ARGUMENTS is "ITEM/VALUE/VALUE": the program gives the last rank the second value.
case_disagree() {
    local ranks=$2 item one other
    IFS=/ read -r item one other <<<"$4"
    run_job "$6" "$5" MPIR_CVAR_NOLOCAL=1 "${mpiexec[@]}" -n "$ranks" "$work/bin/$3" "$item" "$other"
    check_unequal 0 $((ranks - 1)) "$item $one" "has $item $other" "$5" "$6"
}
