# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# One function per kind of case: case_KIND NAME RANKS PROGRAM ARGUMENTS LIMIT LOG. It leaves `reason`
# empty when all was right, else says in one line what was not; `remark` goes behind an ok. Sourced.
# shellcheck disable=SC2016,SC2034,SC2154 # jq programs; variables shared with run

# What MPICH's sanitized library finds of its own leaks is not asked for here.
sanitizer_environment=(ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}"
    UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}")

# The one line that says all was right: alone, but for the demonstration, which says more before. MPICH goes on after a
# lock that it could not take, since checks are left out of its build.
check_job() {
    local test_program=$1 limit=$2 log=$3 lines
    if [ "$job_status" != 0 ]; then
        reason=$(job_reason "$log" "$limit")
        return
    fi
    lines=$(cat "$log.out")
    [ "$test_program" != demo ] || lines=$(tail -n 1 "$log.out")
    [ "$lines" = " No Errors" ] || reason="standard output is not just ' No Errors'"
    ! grep -q '^Error in system call' "$log.err" || reason=$(grep -m 1 '^Error in system call' "$log.err")
}

# set_words SETTING: the setting's environment, into `words`. An unknown setting ends the run.
set_words() {
    local environment
    environment=$(setting_environment "$1") || exit 1
    read -r -a words <<<"$environment"
}

# case_program: NAME is PROGRAM/SETTING/RANKS.
case_program() {
    local setting=${1#*/} ranks=$2 test_program=$3 limit=$5 log=$6
    local words
    setting=${setting%/*}
    set_words "$setting" && words+=("${sanitizer_environment[@]}")
    # shellcheck disable=SC2086 # arguments are words
    run_job "$log" "$limit" "${words[@]}" \
        "${mpiexec[@]}" -n "$ranks" "$work/bin/$test_program" $4 "seed=$seed"
    check_job "$test_program" "$limit" "$log"
}

# ---- growth -------------------------------------------------------------------------------------

# Reads a summary; prints what is wrong with it, nothing when all is right. $large is a list of
# [from, to] pairs that carried data above the threshold through rings; all other directions carried tiny
# messages, less than $tiny bytes together.
growth_program='
    [range($ranks)] as $all |
    [.reports[] as $r | $r.channels[] | {from: $r.rank, to: .peer} + .send] as $sent |
    [.reports[] as $r | $r.channels[] | {from: .peer, to: $r.rank} + .receive] as $received |
    [$all[] as $from | $all[] as $to | [$from, $to] | select($from != $to)] as $pairs |
    (if ([.reports[].rank] | sort) == $all then empty
     else "expected reports of ranks 0 to \($ranks - 1), got \([.reports[].rank])" end),
    (if $pairs - [$sent[] | [.from, .to]] == [] then empty
     else "senders tell nothing of the directions \($pairs - [$sent[] | [.from, .to]])" end),
    (if $pairs - [$received[] | [.from, .to]] == [] then empty
     else "receivers tell nothing of the directions \($pairs - [$received[] | [.from, .to]])" end),
    ($sent[], $received[] |
        select(.from != .to) |
        "the direction \(.from) to \(.to)" as $name |
        if [[.from, .to]] - $large == [] then
            if .phase == 0 then "\($name) carried large messages and is in phase 0"
            elif .bytes < 800000 then "\($name) carried \(.bytes) bytes, expected at least 800000"
            else empty end
        elif .phase > 0 or .enlargements > 0 then
            "\($name) carried nothing large and grew to phase \(.phase)"
        elif $large != [] and .bytes > $tiny then
            "\($name) carried \(.bytes) bytes, expected at most \($tiny)"
        else empty end),
    (if .totals.directions_enlarged == 2 * ($large | length) then empty
     else "expected \(2 * ($large | length)) directions enlarged, counted at both ends, " +
          "got \(.totals.directions_enlarged)" end)'

# judge_summary SUMMARY SETTING RANKS PROGRAM LIMIT LOG REMARK JQ_ARGUMENT...: runs the job under the
# setting, with $program_arguments; the jq program prints what is wrong with the summary it leaves, REMARK is one
# about a good one.
judge_summary() {
    local summary=$1 ranks=$3 test_program=$4 limit=$5 log=$6 remark_program=$7 words wrong
    command -v jq >/dev/null || { reason="jq is missing (Debian package jq)" && return; }
    rm -f "$summary"
    set_words "$2"
    shift 7
    # shellcheck disable=SC2086 # arguments are words
    run_job "$log" "$limit" "${words[@]}" "MPIR_CVAR_BUFENLARGE_SUMMARY_FILE=$summary" \
        "${mpiexec[@]}" -n "$ranks" "$work/bin/$test_program" ${program_arguments-} "seed=$seed"
    if [ "$job_status" != 0 ] || ! grep -qx ' No Errors' "$log.out"; then
        reason=$(job_reason "$log" "$limit")
        return
    fi
    jq -e --argjson r "$ranks" '.format == 1 and .totals.reports == $r' "$summary" >/dev/null 2>&1 ||
        { reason="$summary is empty, or has no totals of $ranks processes" && return; }
    ! grep -q ' is incomplete: ' "$log.err" || { reason="the summary is incomplete" && return; }
    wrong=$(jq -r "$@" "$summary" 2>&1) || wrong="jq cannot read $summary: $wrong"
    printf '%s\n' "==== summary $summary ====" "$wrong" >>"$log"
    reason=${wrong%%$'\n'*}
    [ -n "$reason" ] || remark=$(jq -r "$remark_program" "$summary")
}

# case_growth: ARGUMENTS is "SETTING FROM:TO" or "SETTING none".
case_growth() {
    local ranks=$2 setting pair large='[]'
    read -r setting pair <<<"$4"
    [ "$pair" = none ] || large="[[${pair/:/,}]]"
    judge_summary "$log_dir/growth-$setting-$ranks.json" "$setting" "$ranks" "$3" "$5" "$6" \
        '.totals | "ring memory \(.ring_bytes) bytes, all large \(.ring_bytes_all_large)"' \
        --argjson ranks "$ranks" --argjson large "$large" --argjson tiny 20000 "$growth_program"
}

# ---- totals of the summary ----------------------------------------------------------------------

# Reads a summary; prints where totals, distributions and the reports of $told processes do not agree.
totals_program='
    .totals as $totals | .distributions as $of | [.reports[].channels[]] as $channels |
    (if $totals.reports == $ranks then empty else "totals of \($totals.reports) processes, expected \($ranks)" end),
    (if [.reports[].rank] == [range($told)] then empty else "reports of \([.reports[].rank]), expected \($told)" end),
    ({channels: "process_channels", messages: "process_messages", ring_bytes_max: "process_ring_bytes"} | to_entries[] |
        if $of[.value].count == $ranks and $of[.value].sum == $totals[.key] then empty
        else "\(.value): \($of[.value].count) processes with \($of[.value].sum), totals say \($totals[.key])" end),
    ({messages: "direction_messages", bytes: "direction_bytes"} | to_entries[] |
        if $of[.value].sum == $totals[.key] then empty
        else "\(.value): \($of[.value].sum), totals say \($totals[.key])" end),
    ($of | to_entries[] | .key as $name | .value |
        if ([.histogram[][1]] | add // 0) == .count and .least <= .percent_10 and .percent_10 <= .percent_50 and
            .percent_50 <= .percent_90 and .percent_90 <= .percent_99 and .percent_99 <= .most then empty
        else "\($name) contradicts itself: \(.)" end),
    (if ($totals.directions_in_phase | add) == 2 * $totals.channels then empty
     else "directions in phases \($totals.directions_in_phase), \($totals.channels) channels" end),
    (if $told == 0 or ([$channels[].send.bytes] | add // 0) == $totals.bytes then empty
     else "channels sent \([$channels[].send.bytes] | add) bytes, totals say \($totals.bytes)" end)'

# case_totals: ARGUMENTS is "SETTING REPORTS", the latter how many processes have a report of their own.
case_totals() {
    local setting told
    read -r setting told <<<"$4"
    judge_summary "$log_dir/totals-$setting-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '.totals | "\(.reports) processes, \(.channels) channels, \(.messages) messages"' \
        --argjson ranks "$2" --argjson told "$told" "$totals_program"
}

# ---- steps of a collective operation ------------------------------------------------------------

# case_steps: ARGUMENTS is "SETTING MESSAGES", the latter what the algorithms of the program's operations take. Some
# more belong to MPI_Init and MPI_Finalize.
case_steps() {
    local setting messages
    read -r setting messages <<<"$4"
    judge_summary "$log_dir/steps-$setting-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '.totals | "\(.messages) messages"' --argjson messages "$messages" \
        '.totals.messages | if . < $messages or . > $messages * 1.02 then "\(.) messages, expected \($messages)"
                            else empty end'
}

# ---- rendezvous ---------------------------------------------------------------------------------

# A rendezvous message takes next to no part of a ring. $bytes is all the job sent of any size.
# shellcheck disable=SC2016 # a jq program
copyless_program='
    .totals as $totals | $totals.rendezvous as $rendezvous |
    ($totals.bytes + $rendezvous.fragment_bytes) as $copied |
    if $rendezvous.read_bytes != $bytes then "\($rendezvous.read_bytes) bytes were read, expected \($bytes)"
    elif $rendezvous.response_bytes != $bytes then
        "\($rendezvous.response_bytes) bytes were in responses, expected \($bytes)"
    elif $rendezvous.reads != 1 then "\($rendezvous.reads) reads, expected 1"
    elif $rendezvous.ends_by_immediate + $rendezvous.ends_by_message < 1 then "no end of a read was counted"
    elif $copied >= $bytes / 1000 then "\($copied) bytes were copied for a message of \($bytes)"
    else empty end'

# case_copyless: ARGUMENTS is "SETTING BYTES", the latter the program's default.
case_copyless() {
    local setting bytes
    read -r setting bytes <<<"$4"
    judge_summary "$log_dir/copyless-$setting.json" "$setting" "$2" "$3" "$5" "$6" \
        '.totals | "\(.bytes + .rendezvous.fragment_bytes) bytes through rings, " +
            "\(.rendezvous.read_bytes) without a copy"' \
        --argjson bytes "$bytes" "$copyless_program"
}

# Runs around each rank of case_lost: it makes a killed rank look like one that ended well to Hydra, and itself ignores
# the SIGUSR1 by which Hydra tells the ranks, for which MPICH has a handler. Where processes die the status of mpiexec
# says nothing, so it says itself what is wrong with that of a survivor.
outlive='trap "" USR1; "$@"; status=$?; [ "$status" != 137 ] || exit 0
    [ "$status" = 0 ] || echo "a survivor ended with status $status" >&2
    exit "$status"'

# case_lost: ARGUMENTS is "SETTING PROGRAM_ARGUMENT...". One rank kills itself, and the others go on.
case_lost() {
    local setting=${4%% *} ranks=$2 test_program=$3 limit=$5 log=$6 words
    set_words "$setting" && words+=("${sanitizer_environment[@]}")
    # shellcheck disable=SC2086 # arguments are words
    run_job "$log" "$limit" "${words[@]}" "${mpiexec[@]}" -disable-auto-cleanup -n "$ranks" \
        bash -c "$outlive" "$test_program" "$work/bin/$test_program" ${4#* } "seed=$seed"
    if [ "$job_status" = hang ]; then
        reason="no end after $limit seconds, stacks of the ranks are in the log"
    elif grep -qiE "$crashes" "$log.err"; then
        reason="a survivor crashed"
    elif grep -q 'a survivor ended with status' "$log.err" || ! grep -qx ' No Errors' "$log.out"; then
        reason=$(job_reason "$log" "$limit")
    elif [ "$job_left" -gt 0 ]; then
        reason="$job_left ranks were left when the job had ended"
    fi
}

# case_aborted: as case_lost, but the whole job has to end, with the code that the program gave MPI_Abort.
case_aborted() {
    local setting=${4%% *} ranks=$2 test_program=$3 limit=$5 log=$6 words
    set_words "$setting" && words+=("${sanitizer_environment[@]}")
    # shellcheck disable=SC2086 # arguments are words
    run_job "$log" "$limit" "${words[@]}" "${mpiexec[@]}" -n "$ranks" \
        "$work/bin/$test_program" ${4#* } "seed=$seed"
    check_refusal "$limit" "$log" "MPI_Abort(MPI_COMM_WORLD, 3)"
    [ -n "$reason" ] || [ "$job_status" = 3 ] || reason="status $job_status, expected 3"
    [ -n "$reason" ] || [ "$job_left" -eq 0 ] || reason="$job_left ranks survived"
}

# ---- bad knobs ----------------------------------------------------------------------------------

# MPICH breaks long messages into lines, each with a prefix of its own; here they are one again.
whole_messages() {
    sed 's/^MPIDI_BUFENLARGE_error([0-9]*)[.]*: ch4:bufenlarge: //' "$1" | tr -d '\n'
}

# What is allowed for a knob, as its documentation says.
allowed_text() {
    awk -F' *[|] *' -v name="\`MPIR_CVAR_BUFENLARGE_$1\`" '$2 == name { print $4 }' "$top/docs/knobs.md"
}

# What a process leaves that crashed.
crashes='signal (4|6|7|8|11)\b|segmentation|bus error|assertion|terminate called|AddressSanitizer|runtime error:'

# check_refusal LIMIT LOG TEXT...: the job must have ended itself, with a message that has the texts.
check_refusal() {
    local limit=$1 log=$2 text
    shift 2
    if [ "$job_status" = hang ]; then
        reason="no end after $limit seconds, stacks of the ranks are in the log"
    elif [ "$job_status" = 0 ] || grep -q ' No Errors' "$log.out"; then
        reason="the job ran, though it was to be refused"
    elif grep -qiE "$crashes" "$log.err"; then
        reason="the job crashed instead of saying what is wrong"
    else
        for text in "$@"; do
            grep -qF -- "$text" <<<"$(whole_messages "$log.err")" || reason="the message lacks: $text"
        done
    fi
}

# case_badknob: ARGUMENTS is KNOB=VALUE.
case_badknob() {
    local ranks=$2 test_program=$3 limit=$5 log=$6 knob=${4%%=*} value=${4#*=} allowed
    case $4 in # two checks that come later know more, and say what is allowed here
        INTERFACE=*) allowed="set one or several of: lo (127.0.0.1" ;;
        SLOTS=*,*) allowed="auto, one number, or one for each of the 3 PHASES" ;;
        *) allowed=$(allowed_text "$knob") ;;
    esac
    [ -n "$allowed" ] || { reason="docs/knobs.md has no row for $knob" && return; }
    run_job "$log" "$limit" MPIR_CVAR_NOLOCAL=1 "MPIR_CVAR_BUFENLARGE_$knob=$value" \
        "${mpiexec[@]}" -n "$ranks" "$work/bin/$test_program"
    check_refusal "$limit" "$log" "$knob" "'$value'" "$allowed"
}

# case_empty_knob: ARGUMENTS are knobs, which are set to nothing: the same as not set.
case_empty_knob() {
    local ranks=$2 test_program=$3 limit=$5 log=$6 knob words=()
    for knob in $4; do words+=("MPIR_CVAR_BUFENLARGE_$knob="); done
    run_job "$log" "$limit" MPIR_CVAR_NOLOCAL=1 "${words[@]}" \
        "${mpiexec[@]}" -n "$ranks" "$work/bin/$test_program"
    check_job "$test_program" "$limit" "$log"
}

# ---- malformed messages ---------------------------------------------------------------------------

# case_malformed: ARGUMENTS is "WHAT TEXT": the job ends with an error that has the text.
case_malformed() {
    local ranks=$2 test_program=$3 limit=$5 log=$6 what=${4%% *} text=${4#* }
    run_job "$log" "$limit" MPIR_CVAR_NOLOCAL=1 "${mpiexec[@]}" -n "$ranks" "$work/bin/$test_program" "$what"
    check_refusal "$limit" "$log" "$text"
}
