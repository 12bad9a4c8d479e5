# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Cases in which connections end and are made again: fewer of them than peers, or none that is not used. Sourced. Bash.
# shellcheck disable=SC2016,SC2034,SC2154 # jq programs; variables shared with run

# A line: ranks, setting (cases.sh), arguments of the program. A bound of N connections is the setting capN.
closing_cases() {
    closing_case 24 cap8 "rounds=3 bytes=20K"
    closing_case 8 cap2 "rounds=3"
    closing_case 4 cap1 "rounds=3"
    closing_case 6 idle "rounds=6"
}

device_closing_cases() {
    closing_case 4 cap2 "rounds=2 bytes=20K"
    closing_case 3 cap1 "rounds=2 bytes=20K"
    closing_case 4 idle "rounds=3 bytes=20K"
}

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
