# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Cases of memory whose registrations stay, and which is unmapped. Sourced. Bash.
# shellcheck disable=SC2016,SC2034,SC2154 # jq programs; variables shared with run

stale_cases() {
    echo "stale/kept/2|kept|2|stale|kept|240"
    echo "stale/kept/3|kept|3|stale|kept rounds=3000|240"
    echo "stale/few/3|kept|3|stale|kept-few rounds=3000|240"
    echo "stale/threads/2|kept|2|stale|kept rounds=2000 threads=4|240"
    program_case stale kept-standing 3 rounds=3000
    program_case stale kept-none 2 rounds=3000
    echo "persistent/kept/2|requests|2|persistent|kept-standing bytes=64K|120"
    echo "persistent/kept/3|requests|3|persistent|kept-standing bytes=1M rounds=400|120"
    echo "persistent/monitor/2|requests|2|persistent|kept bytes=64K|120"
    program_case persistent kept-none 2 rounds=50
    program_case persistent default 4 rounds=50
    program_case rendezvous_memory kept 3
    program_case rendezvous kept 2
    program_case onesided_puts kept 3
}

# A device pins pages: there an old registration does harm.
device_stale_cases() {
    echo "stale/kept/2|kept|2|stale|kept rounds=3000|240"
    echo "stale/few/3|kept|3|stale|kept-few rounds=1500|240"
    echo "persistent/kept/2|requests|2|persistent|kept-standing rounds=250|240"
    [ "$all" = yes ] || return 0
    echo "stale/threads/2|kept|2|stale|kept rounds=500 threads=4|240"
    program_case stale kept-standing 2 rounds=1500
}

# Environment of the settings kept, kept-few, kept-standing and kept-none.
kept_environment() {
    local cache=67108864 monitor=hooks
    case $1 in
        kept-few) cache=300000 ;;
        kept-standing) monitor=none ;;
        kept-none) cache=off monitor=auto ;;
    esac
    echo "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_BUFENLARGE_RENDEZVOUS=1024" \
        "MPIR_CVAR_BUFENLARGE_REGISTRATION_CACHE=$cache MPIR_CVAR_BUFENLARGE_MEMORY_MONITOR=$monitor"
}

# case_kept: ARGUMENTS is "SETTING PROGRAM_ARGUMENT...".
case_kept() {
    local setting program_arguments
    read -r setting program_arguments <<<"$4"
    judge_summary "$log_dir/kept-$setting-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '.totals.rendezvous | "\(.hits) times found registered, \(.registrations) times not"' \
        '.totals.rendezvous |
            if .reads < 1 then "nothing was read"
            elif .hits < 100 then "only \(.hits) uses found their memory registered"
            else empty end'
}

# case_requests: as case_kept. Of what persistent requests send again and again hardly anything is registered again.
case_requests() {
    local setting program_arguments
    read -r setting program_arguments <<<"$4"
    judge_summary "$log_dir/requests-$setting-$2.json" "$setting" "$2" "$3" "$5" "$6" \
        '.totals.rendezvous | "\(.reads) messages, \(.registrations) registrations"' \
        '.totals.rendezvous |
            if .reads < 1000 then "only \(.reads) were read"
            elif .registrations * 100 > .reads then "\(.registrations) registrations for \(.reads) messages"
            else empty end'
}
