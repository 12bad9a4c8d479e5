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

# case_pvars: ARGUMENTS are a setting in which rings grow, and what mpit.c is called with.
case_pvars() {
    local setting program_arguments
    read -r setting program_arguments <<<"$4"
    export MPIT_FILE=$6.pvars
    rm -f "$MPIT_FILE"
    judge_summary "$log_dir/pvars-${4// /-}-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '.totals | "\(.directions_enlarged) directions enlarged, \(.rendezvous.reads) reads"' \
        --rawfile printed "$MPIT_FILE" "$pvars_program"
    unset MPIT_FILE
}

# Reads a summary; $printed is the file that events.c has written: the events of all processes, each in the order in
# which things happened. Prints where they differ from the summary, or the two ends of a direction from each other.
# $grown and $refused are directions that have to be there, [from, to] each. So many events as $late says of a direction
# and kind may have come after they were written; $limit is MEMORY_MAX, or 0.
events_program='
    ("peer vci sends before phase wanted slot_bytes slots refusal ring_bytes pinned_bytes" | split(" ")) as $elements |
    [$printed | split("\n")[] | select(. != "") | split(" ") | (.[2:] | map(tonumber)) as $of |
        {rank: (.[0] | tonumber), name: (.[1] | ltrimstr("bufenlarge_"))} +
            ([range($of | length) | {($elements[.]): $of[.]}] | add)] as $events |
    [$events[] | select(.name != "peer_lost") |
        . + (if .sends == 1 then {from: .rank, to: .peer} else {from: .peer, to: .rank} end)] as $ring |
    def of($rank; $channel; $sends):
        map(select(.rank == $rank and .peer == $channel.peer and .vci == $channel.vci and .sends == $sends));
    def named($name): map(select(.name == $name));
    def directions: map([.from, .to]) | unique;
    (.reports[] as $report | $report.channels[] as $channel | ([1, $channel.send], [0, $channel.receive]) |
        . as [$sends, $stats] | ($ring | of($report.rank; $channel; $sends)) as $told |
        "rank \($report.rank), peer \($channel.peer), sends \($sends): " as $where |
        ({channel_grown: $stats.enlargements, channel_shrunk: $stats.shrinks, growth_refused: $stats.refused} |
            to_entries[] | .key as $name | .value as $count | ($told | named($name) | length) |
            if . <= $count and $count <= . + $late then empty
            else $where + "\(.) events \($name), the summary counts \($count)" end),
        (reduce $told[] as $event ({phase: 0};
            if $event.before == .phase or $event.phase == .phase then .phase = $event.phase
            else .wrong = "phase \($event.before) follows \(.phase)" end) |
            if .wrong then $where + .wrong
            elif $late == 0 and $sends == 0 and .phase != $stats.phase then
                $where + "phase \(.phase), the summary says \($stats.phase)"
            else empty end),
        ($told | named("growth_refused")[] | select(.refusal == 0) | $where + "refused for no reason"),
        ($told[] | select(.ring_bytes == 0 or .ring_bytes > $channel.registered_bytes_max) |
            $where + "\(.ring_bytes) bytes of rings, the summary says at most \($channel.registered_bytes_max)"),
        ($told[] | select($limit > 0 and .pinned_bytes > $limit) |
            $where + "\(.pinned_bytes) bytes pinned, allowed are \($limit)")),
    (($ring | named("channel_grown")) as $all | ($all | directions)[] as [$from, $to] |
        [(1, 0) as $sends | $all | map(select(.from == $from and .to == $to and .sends == $sends) |
            [.before, .phase, .wanted, .slot_bytes, .slots])] |
        if $late > 0 or .[0] == .[1] then empty
        else "the direction \($from) to \($to) has grown otherwise at its ends: \(.)" end),
    ({channel_grown: $grown, growth_refused: $refused} | to_entries[] | .key as $name |
        (.value - ($ring | named($name) | directions)) | select(. != []) | "no event \($name) of directions \(.)"),
    ($events[] | select(.name == "peer_lost") | "rank \(.rank) was told that a process was lost")'

# SETTING LIMIT LATE GROWN REFUSED PROGRAM_ARGUMENT...: as the program above has them, the directions as JSON.
event_cases() {
    echo "events/grow/4|events|4|events|first 0 0 [[0,1],[0,2],[2,0]] []|60"
    echo "events/shrink/3|events|3|events|shrink 0 2 [[0,1],[0,2],[2,0]] []|60"
    echo "events/refused/3|events|3|events|tight 1048576 0 [[0,1],[0,2]] [[0,2],[2,0]]|60"
    echo "events/threads/3|events|3|events|first 0 0 [[0,1],[0,2],[2,0]] [] threads=1|60"
    echo "events/lost/4|lost|4|events|default rounds=1|60"
    echo "events/lost-threads/4|lost|4|events|default rounds=1 threads=1|60"
}

case_events() {
    local setting limit late grown refused program_arguments
    read -r setting limit late grown refused program_arguments <<<"$4"
    export EVENTS_FILE=$6.events
    rm -f "$EVENTS_FILE"
    judge_summary "$log_dir/events-$setting-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '[.reports[].channels[] | .send, .receive] | [(map(.enlargements), map(.shrinks), map(.refused)) | add] |
            "\(.[0]) times larger, \(.[1]) smaller, \(.[2]) refused, counted at both ends"' \
        --rawfile printed "$EVENTS_FILE" --argjson limit "$limit" --argjson late "$late" \
        --argjson grown "$grown" --argjson refused "$refused" "$events_program"
    unset EVENTS_FILE
}

# case_largest: ARGUMENTS is a setting. Of a job with many channels the table has the ten that sent most, as the JSON
# file has them, and the line that says so.
case_largest() {
    local summary=$log_dir/largest-$2.json printed expected
    judge_summary "$summary" "$4" "$2" "$3" "$5" "$6" '"\([.reports[].channels[]] | length) channels"' \
        'if [.reports[].channels[]] | length > 64 then empty else "there are not more than 64 channels" end'
    [ -z "$reason" ] || return 0
    printed=$(awk '/^ *[0-9]+ +[0-9]+ [|]/ { print $1, $2 }' "$6.out")
    expected=$(jq -r '[.reports[] | .rank as $rank | .channels[] | {rank: $rank, peer, bytes: .send.bytes}] |
        sort_by(-.bytes)[:10][] | "\(.rank) \(.peer)"' "$summary")
    [ "$printed" = "$expected" ] || reason="the table has ${printed//$'\n'/, }; the largest are ${expected//$'\n'/, }"
    grep -q '^the 10 channels that sent most, of ' "$6.out" || reason="the table does not say that it has ten"
}

# case_report: ARGUMENTS is a setting. bufenlarge_report draws the summary of the job: with its host, what it sent, and
# one knob for each that the setting names; MEMORY_MAX, say, has its default and is not there.
case_report() {
    local summary=$log_dir/report-$4-$2.json page=$log_dir/report-$4-$2.html words
    judge_summary "$summary" "$4" "$2" "$3" "$5" "$6" '"\(.processes) processes"' \
        '(if .rank_0.host == $host then empty else "the host is \(.rank_0.host), not \($host)" end),
         (if (.knobs | keys) == (.knob_defaults | keys) then empty else "knobs and defaults differ" end)' \
        --arg host "$(uname -n)"
    [ -z "$reason" ] || return 0
    "$top/src/report/bufenlarge_report" "$summary" --output "$page" >>"$6" 2>&1 ||
        { reason="no page; log: $6" && return; }
    for words in "a job of $2 processes" "MPIR_CVAR_BUFENLARGE_SUMMARY_FILE</th><td>$summary</td>" \
        "<dt>messages sent</dt><dd>$(jq -r .totals.messages "$summary" | sed ':a; s/\B[0-9]\{3\}\>/,&/; ta')</dd>"; do
        grep -qF -- "$words" "$page" || reason="the page lacks $words"
    done
    ! grep -qF MPIR_CVAR_BUFENLARGE_MEMORY_MAX "$page" || reason="the page has a knob that has its default"
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
