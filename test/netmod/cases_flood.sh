# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Cases in which ranks send more than a receiver wants to keep (bufenlarge_unexpected.c). Sourced. Bash.
# shellcheck disable=SC2016,SC2034,SC2154 # jq programs; variables shared with run

flood_cases() {
    program_case flood unlimited 4
    program_case flood_mixed mixed 4
    program_case onesided_flood default 4 ""
    echo "flood/limited/4|limited|4|flood|limited|120"
    echo "flood/limited/8|limited|8|flood|limited bytes=6000 rounds=2000|120"
    echo "flood/mutual/4|limited|4|p2p_unexpected|limited bytes=8|120"
}

# Environment of the settings limited and unlimited.
flood_environment() {
    local limit=262144
    [ "$1" = limited ] || limit=off
    echo "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_BUFENLARGE_UNEXPECTED=$limit"
}

# case_limited: ARGUMENTS is "SETTING PROGRAM_ARGUMENT...". In p2p_unexpected every rank floods every other one, and has
# to tell them not to although it has messages for them itself.
case_limited() {
    local setting program_arguments senders=$(($2 - 2)) times=2
    [ "$3" = flood ] || senders=$(($2 - 1)) times=3
    read -r setting program_arguments <<<"$4"
    judge_summary "$log_dir/limited-$3-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '.totals | "at most \(.unexpected_bytes_max) bytes, \(.eager_limits) times told"' \
        --argjson senders "$senders" --argjson most "$((times * senders * 262144))" '.totals |
            if .eager_limits < $senders then "\(.eager_limits) senders were told, of \($senders)"
            elif .unexpected_bytes_max < $senders * 262144 then "at most \(.unexpected_bytes_max) bytes were unexpected"
            elif .unexpected_bytes_max > $most then "\(.unexpected_bytes_max) bytes were unexpected, more than \($most)"
            else empty end'
}
