# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The kinds of cases about what tools see: performance variables (MPI_T), and the names of knobs. As in case_kinds.sh.
# shellcheck disable=SC2016,SC2034,SC2154 # jq programs; variables shared with run

# Reads a summary; $printed is the file that mpit.c has written. Prints where they differ. MPI_Finalize sends some
# messages after the variables are read.
pvars_program='
    ($printed | split("\n") | map(select(. != "") | split(" ") |
        {key: (.[0:3] | join(" ")), value: (.[3] | tonumber)}) | from_entries) as $values |
    def value($rank; $name; $peer): $values["\($rank) bufenlarge_\($name) \($peer)"];
    .reports[] as $report | $report.rank as $rank | $report.rendezvous as $rendezvous |
    ({
        channels: ($report.channels | map(select(.connected)) | length),
        connections_most: $report.connections_most,
        ring_bytes: $report.registered_bytes,
        ring_bytes_most: $report.registered_bytes_max,
        ring_registrations: $report.registrations,
        pinned_bytes_most: $report.pinned_bytes_most,
        enlargements: ($report.channels | map(.send.enlargements) | add),
        reads: $rendezvous.reads,
        read_bytes: $rendezvous.read_bytes,
        response_bytes: $rendezvous.response_bytes,
        user_registrations: $rendezvous.registrations,
        user_bytes_most: $rendezvous.registered_bytes_max
    } | to_entries[] | value($rank; .key; "-") as $value |
        if $value == .value then empty
        else "rank \($rank): bufenlarge_\(.key) is \($value), the summary says \(.value)" end),
    ($report.channels | map(.send.messages) | add | . as $messages | value($rank; "messages"; "-") as $value |
        if $value != null and $value <= $messages and $messages <= $value + 32 then empty
        else "rank \($rank): bufenlarge_messages is \($value), the summary says \($messages)" end),
    ($report.channels[] |
        {channel_send_phase: .send.phase, channel_receive_phase: .receive.phase, channel_ring_bytes: .registered_bytes,
         channel_enlargements: .send.enlargements} as $told | .peer as $peer |
        $told | to_entries[] | value($rank; .key; $peer) as $value |
        if $value == .value then empty
        else "rank \($rank): bufenlarge_\(.key) of rank \($peer) is \($value), the summary says \(.value)" end)'

# case_pvars: ARGUMENTS is a setting in which rings grow.
case_pvars() {
    export MPIT_FILE=$6.pvars
    rm -f "$MPIT_FILE"
    judge_summary "$log_dir/pvars-$4-$2.json" "$4" "$2" "$3" "$5" "$6" \
        '.totals | "\(.directions_enlarged) directions enlarged, \(.rendezvous.reads) reads"' \
        --rawfile printed "$MPIT_FILE" "$pvars_program"
    unset MPIT_FILE
}

# case_mpivars: MPICH's program that lists the variables has those of the netmod, with their descriptions.
case_mpivars() {
    local limit=$5 log=$6
    run_job "$log" "$limit" MPIR_CVAR_NOLOCAL=1 "${mpiexec[@]}" -n 1 "$prefix/bin/mpivars"
    if [ "$job_status" != 0 ]; then
        reason="mpivars ended with status $job_status"
    elif ! grep -q 'bufenlarge_ring_bytes' "$log.out"; then
        reason="mpivars does not list bufenlarge_ring_bytes"
    elif ! grep -q 'MPIR_CVAR_BUFENLARGE_PHASES' "$log.out"; then
        reason="mpivars does not list MPIR_CVAR_BUFENLARGE_PHASES"
    fi
}

# case_unknown_knob: ARGUMENTS is "NAME NEAREST": one process warns, and the job runs as if nothing were set.
case_unknown_knob() {
    local ranks=$2 test_program=$3 limit=$5 log=$6 name nearest knob=MPIR_CVAR_BUFENLARGE expected
    read -r name nearest <<<"$4"
    run_job "$log" "$limit" MPIR_CVAR_NOLOCAL=1 "${knob}_$name=1" "${mpiexec[@]}" -n "$ranks" "$work/bin/$test_program"
    check_job "$test_program" "$limit" "$log"
    expected="bufenlarge: rank 0: warning: ${knob}_$name is no knob and changes nothing;"
    expected+=" the nearest name is ${knob}_$nearest"
    [ -z "$reason" ] || return 0
    [ "$(grep -F 'is no knob' "$log.err")" = "$expected" ] ||
        reason="standard error has not just this line about it: $expected"
}
