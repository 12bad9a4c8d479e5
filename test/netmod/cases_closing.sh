# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Cases in which connections end and are made again: fewer of them than peers, or none that is not used; those in which
# directions go back to smaller rings, and grow again; and those in which a process may pin little memory. Sourced.
# Bash.
# shellcheck disable=SC2016,SC2034,SC2154 # jq programs; variables shared with run

# A line: ranks, setting (cases.sh), arguments of the program. A bound of N connections is the setting capN.
closing_cases() {
    closing_case 24 cap8 "rounds=3 bytes=20K"
    closing_case 8 cap2 "rounds=3"
    closing_case 4 cap1 "rounds=3"
    closing_case 6 idle "rounds=6"
    shrinking_case 4
    shrinking_case 6
    budget_case 8 1048576 "rounds=6"
    budget_case 32 1048576 "rounds=3"
}

device_closing_cases() {
    closing_case 4 cap2 "rounds=2 bytes=20K"
    closing_case 3 cap1 "rounds=2 bytes=20K"
    closing_case 4 idle "rounds=3 bytes=20K"
    shrinking_case 3
    budget_case 4 1048576 "rounds=3 bytes=1M"
}

# Environment of the settings idle, budget, tight and capN. With tight there is room for one large ring.
closing_environment() {
    case $1 in
        cap*) echo "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_BUFENLARGE_CONNECTIONS=${1#cap}" ;;
        idle) echo "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_BUFENLARGE_IDLE_CLOSE=1ms" ;;
        tight)
            echo "$(setting_environment first) MPIR_CVAR_BUFENLARGE_PHASES=512,32768" \
                "MPIR_CVAR_BUFENLARGE_MEMORY_MAX=1048576"
            ;;
        budget) echo "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_BUFENLARGE_MEMORY_MAX=1048576" ;;
    esac
}

shrinking_case() { echo "crowd/shrink/$1|shrinking|$1|crowd|shrink rounds=12 bytes=20K quiet=60|240"; }

# RANKS BYTES PROGRAM_ARGUMENTS: a process may pin so many bytes.
budget_case() { echo "crowd/budget/$1|budget|$1|crowd|budget $2 $3|420"; }

closing_case() {
    local limit=240
    [ "$1" -le 8 ] || limit=420
    echo "crowd/$2/$1|closing|$1|crowd|$2 $3|$limit"
}

# $bound is 0 where there is none.
closing_program='
    .totals as $totals |
    if $bound > 0 and $totals.connections_most > $bound then
        "a process had \($totals.connections_most) connections, at most \($bound) are allowed"
    elif $totals.connections_closed == 0 then "no connection was closed"
    elif $totals.connections_reopened == 0 then "no connection was made again"
    else empty end'

# case_closing: ARGUMENTS is "SETTING PROGRAM_ARGUMENT...".
case_closing() {
    local setting program_arguments bound=0
    read -r setting program_arguments <<<"$4"
    case $setting in cap*) bound=${setting#cap} ;; esac
    judge_summary "$log_dir/closing-$setting-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '.totals | "\(.connections_most) connections at most, \(.connections_closed) closed, " +
            "\(.connections_reopened) made again"' \
        --argjson bound "$bound" "$closing_program"
}

shrinking_program='
    [.reports[].channels[].send] as $sent |
    if ([$sent[].shrinks] | add) == 0 then "no direction went back to a smaller ring"
    elif [$sent[] | select(.shrinks > 0 and .enlargements > 1)] == [] then "no direction grew again"
    else empty end'

# case_shrinking: ARGUMENTS is "SETTING PROGRAM_ARGUMENT...".
case_shrinking() {
    local setting program_arguments
    read -r setting program_arguments <<<"$4"
    judge_summary "$log_dir/shrinking-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '[.reports[].channels[].send] |
            "\(map(.enlargements) | add) times larger, \(map(.shrinks) | add) times smaller"' \
        "$shrinking_program"
}

# The limit was felt, and never passed.
budget_program='
    .totals as $totals |
    if $totals.pinned_bytes_most > $limit then "a process had \($totals.pinned_bytes_most) bytes pinned"
    elif $totals.pinned_refused == 0 then "the limit never refused anything"
    elif [.reports[] | select(.pinned_bytes_max != $limit)] != [] then "a process had another limit"
    else empty end'

# case_budget: ARGUMENTS is "SETTING BYTES PROGRAM_ARGUMENT...".
case_budget() {
    local setting bytes program_arguments
    read -r setting bytes program_arguments <<<"$4"
    judge_summary "$log_dir/budget-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '.totals | "at most \(.pinned_bytes_most) bytes pinned, \(.pinned_refused) times refused"' \
        --argjson limit "$bytes" "$budget_program"
}
