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

# Reads a summary; $printed is the file that events.c has written: the events of all processes, each in the order in which
# things happened. Elements of the ring events: peer 0, vci 1, sends 2, phase_before 3, phase 4, phase_wanted 5,
# slot_bytes 6, slots 7, refusal 8, ring_bytes 9, pinned_bytes 10. Prints where they differ from the summary, or the two
# ends of a direction from each other. $grown and $refused are directions that have to be there, [from, to] each.
events_program='
    [$printed | split("\n")[] | select(. != "") | split(" ") |
        {rank: (.[0] | tonumber), name: .[1], of: (.[2:] | map(tonumber))}] as $events |
    [$events[] | select(.name != "bufenlarge_peer_lost") |
        . + {from: (if .of[2] == 1 then .rank else .of[0] end), to: (if .of[2] == 1 then .of[0] else .rank end)}] as $ring |
    def named($name): map(select(.name == "bufenlarge_" + $name));
    def of($rank; $peer; $vci; $sends): map(select(.rank == $rank and .of[0:3] == [$peer, $vci, $sends]));
    def directions: map([.from, .to]) | unique;
    (.reports[] as $report | $report.channels[] as $channel | ([1, $channel.send], [0, $channel.receive]) |
        . as [$sends, $stats] | ($ring | of($report.rank; $channel.peer; $channel.vci; $sends)) as $told |
        "rank \($report.rank), peer \($channel.peer), sends \($sends): " as $where |
        ([["channel_grown", $stats.enlargements], ["channel_shrunk", $stats.shrinks], ["growth_refused", $stats.refused]][] |
            . as [$name, $count] | ($told | named($name) | length) |
            if . <= $count and $count <= . + $late then empty
            else $where + "\(.) events \($name), the summary counts \($count)" end),
        (reduce $told[].of as $of ([0, ""];
            if $of[4] != .[0] and $of[3] != .[0] then .[1] = "phase \($of[3]) follows \(.[0])" else .[0] = $of[4] end) |
            if .[1] != "" then $where + .[1]
            elif $late == 0 and $sends == 0 and .[0] != $stats.phase then $where + "phase \(.[0]), the summary says \($stats.phase)"
            else empty end),
        ($told | named("growth_refused")[] | select(.of[8] == 0) | $where + "refused for no reason"),
        ($told[].of | select(.[9] == 0 or .[9] > $channel.registered_bytes_max) |
            $where + "\(.[9]) bytes of rings, the summary says at most \($channel.registered_bytes_max)"),
        ($told[].of | select($limit > 0 and .[10] > $limit) | $where + "\(.[10]) bytes pinned, allowed are \($limit)")),
    (($ring | named("channel_grown")) as $all | ($all | directions)[] as [$from, $to] |
        [(1, 0) as $sends | $all | map(select(.from == $from and .to == $to and .of[2] == $sends).of[3:8])] |
        if $late > 0 or .[0] == .[1] then empty else "the direction \($from) to \($to) has grown otherwise at its ends: \(.)" end),
    ([["channel_grown", $grown], ["growth_refused", $refused]][] | . as [$name, $expected] |
        ($expected - ($ring | named($name) | directions)) | select(. != []) | "no event \($name) of directions \(.)"),
    ($events[] | select(.name == "bufenlarge_peer_lost") | "rank \(.rank) was told that a process was lost")'

event_cases() {
    echo "events/grow/4|events|4|events|first 0 0 [[0,1],[0,2],[2,0]] []|60"
    echo "events/shrink/3|events|3|events|shrink 0 2 [[0,1],[0,2],[2,0]] []|60"
    echo "events/refused/3|events|3|events|tight 1048576 0 [[0,1],[0,2]] [[0,2],[2,0]]|60"
    echo "events/threads/3|events|3|events|first 0 0 [[0,1],[0,2],[2,0]] [] threads=1|60"
    echo "events/lost/4|lost|4|events|default rounds=1|60"
    echo "events/lost-threads/4|lost|4|events|default rounds=1 threads=1|60"
}

# case_events: ARGUMENTS is "SETTING LIMIT LATE GROWN REFUSED PROGRAM_ARGUMENT...": the setting's MEMORY_MAX or 0, how
# many events of a direction and kind may come after they were written, and the directions that have to be told, as JSON.
case_events() {
    local setting limit late grown refused program_arguments
    read -r setting limit late grown refused program_arguments <<<"$4"
    export EVENTS_FILE=$6.events
    rm -f "$EVENTS_FILE"
    judge_summary "$log_dir/events-$setting-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '[.reports[].channels[] | .send, .receive] |
            "\(map(.enlargements) | add) times larger, \(map(.shrinks) | add) smaller, \(map(.refused) | add) refused"' \
        --rawfile printed "$EVENTS_FILE" --argjson limit "$limit" --argjson late "$late" --argjson grown "$grown" --argjson refused "$refused" \
        "$events_program"
    unset EVENTS_FILE
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
