# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Cases for an MPICH with a lock for each of several VCIs: communicators take turns with them. Sourced. Bash.
# shellcheck disable=SC2154 # variables shared with run

# Environment of a setting of cases.sh, with four VCIs.
vcis_environment() { echo "$(setting_environment "${1#vcis-}") MPIR_CVAR_CH4_NUM_VCIS=4"; }

# With a VCI for each of a program's four MPIX streams, beside the first.
streams_environment() { echo "$(setting_environment "${1#streams-}") MPIR_CVAR_CH4_RESERVE_VCIS=4"; }

# Prints for how many VCIs the MPICH was configured; 64 where nothing says so, as since 4.1.
most_vcis() {
    local most
    most=$(mpich_says "${prefix-}" configure 2>/dev/null | sed -n 's/.*--with-ch4-max-vcis=\([0-9]*\).*/\1/p') || true
    echo "${most:-64}"
}

vcis_cases() {
    local name setting most
    most=$(most_vcis)
    for setting in vcis-default vcis-mixed; do
        for name in "${programs[@]}"; do program_case "$name" "$setting" 4; done
    done
    for name in p2p_modes onesided threads threads_windows comms; do program_case "$name" vcis-shm 4; done
    for setting in vcis-one-slot vcis-read vcis-three; do
        for name in threads comms onesided; do program_case "$name" "$setting" 3; done
    done
    program_case threads default 4 # one of the four
    echo "vcis/used|vcis_used|3|threads|bytes=300000 rounds=4|120"
    echo "vcis/races|races|2|threads_windows|rounds=1|120"
    echo "vcis/more-than-there-are|vcis_refused|2|demo|$((most + 5)) ask for $((most + 5)) VCIs; this MPICH was" \
        "configured for at most $most|60"
    echo "vcis/unequal|unequal|2|demo|default CH4_NUM_VCIS 2 3 MPIR_CVAR_CH4_NUM_VCIS=2/has MPIR_CVAR_CH4_NUM_VCIS=3|20"
}

# Where MPICH has its own default: one VCI up to 4.0, since 4.1 as many as the user asks for, 64 at most.
own_vcis_cases() {
    case $(version_of_prefix) in
        4.0*)
            echo "vcis/more-than-one|vcis_refused|2|demo|4 ask for 4 VCIs; this MPICH was configured for at most 1|60"
            ;;
        *)
            echo "vcis/used|vcis_used|3|threads|bytes=300000 rounds=4|120"
            echo "vcis/more-than-there-are|vcis_refused|2|demo|65 ask for 65 VCIs; this MPICH was configured for at" \
                "most 64|60"
            for setting in vcis-default vcis-shm; do program_case threads "$setting" 4; done
            program_case threads_windows vcis-shm 4
            for setting in streams-default streams-shm streams-read; do program_case mpix_streams "$setting" 4; done
            echo "vcis/used-by-streams|streams_used|3|mpix_streams|bytes=300000 rounds=4|120"
            echo "vcis/unequal-reserved|unequal|2|demo|default CH4_RESERVE_VCIS 0 4 MPIR_CVAR_CH4_RESERVE_VCIS=0/has" \
                "MPIR_CVAR_CH4_RESERVE_VCIS=4|20"
            ;;
    esac
}

# The communicators of its four threads are on four VCIs, each with channels of its own.
# shellcheck disable=SC2016 # a jq program
vcis_used_program='
    .reports[] | .rank as $rank |
    [.channels[] | select(.connected and .send.messages > 0) | .vci] | unique as $vcis |
    if $vcis == [range($count)] then empty else "rank \($rank) sent on VCIs \($vcis), expected the first \($count)" end'

# used_case SETTING COUNT CASE...: all of the first COUNT VCIs have sent messages.
used_case() {
    local program_arguments=$6
    judge_summary "$log_dir/${3//\//-}.json" "$1" "$4" "$5" "$7" "$8" \
        '.totals | "\(.channels) channels, \(.messages) messages"' --argjson count "$2" "$vcis_used_program"
}
case_vcis_used() { used_case vcis-default 4 "$@"; }
case_streams_used() { used_case streams-default 5 "$@"; }

# case_vcis_refused: ARGUMENTS is "NUMBER TEXT".
case_vcis_refused() {
    run_job "$6" "$5" MPIR_CVAR_NOLOCAL=1 "MPIR_CVAR_CH4_NUM_VCIS=${4%% *}" "${mpiexec[@]}" -n "$2" "$work/bin/$3"
    check_refusal "$5" "$6" MPIR_CVAR_CH4_NUM_VCIS "${4#* }"
}

# case_races: threads take turns at MPICH's list of segments of shared memory, by valgrind's drd. What else drd reports
# is not judged: it does not know MPICH's queues without locks.
case_races() {
    local log=$6 words ended races
    command -v valgrind >/dev/null || { reason="valgrind is missing (Debian package valgrind)" && return; }
    grep -q ' MPIDU_shm_free$' <<<"$(nm "$prefix/lib/libmpi.so")" ||
        { reason="libmpi has no symbols, so drd could not name the functions" && return; }
    set_words vcis-shm
    rm -f "$log".drd.*
    # shellcheck disable=SC2086 # arguments are words
    run_job "$log" "$5" "${words[@]}" "${mpiexec[@]}" -n "$2" valgrind --tool=drd --error-limit=no \
        "--log-file=$log.drd.%p" "$work/bin/$3" $4 "seed=$seed"
    check_job "$3" "$5" "$log"
    [ -z "$reason" ] || return
    ended=$(cat "$log".drd.* | grep -c 'ERROR SUMMARY')
    [ "$ended" = "$2" ] || reason="drd ended in $ended of $2 ranks"
    races=$(cat "$log".drd.* | grep -A 1 'Conflicting' | grep -c 'at 0x.*: MPIDU_shm_\(alloc\|free\)')
    [ "$races" = 0 ] || reason="drd saw $races races in MPIDU_shm_alloc and MPIDU_shm_free, see $log.drd.*"
}
