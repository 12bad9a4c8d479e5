# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The kinds of case for tools/rdma-vm, as in case_kinds.sh. Sourced. Bash.
# shellcheck disable=SC2016,SC2034,SC2154 # jq programs; variables shared with run

# ---- summary ------------------------------------------------------------------------------------

# What the JSON summary says of the fabric, against what the fabric is: prints what is wrong.
# shellcheck disable=SC2016 # a jq program
summary_program='
    (if $fabric == "rxe" then "FI_PROTO_RDMA_CM_IB_RC" else "FI_PROTO_IWARP" end) as $protocol |
    .reports[] | "rank \(.rank): " as $who |
    if .provider != "verbs" then $who + "provider \(.provider)"
    elif .protocol != $protocol then $who + "protocol \(.protocol), expected \($protocol)"
    elif .arrival != $arrival then $who + "arrival \(.arrival), expected \($arrival)"
    elif (.arrival_reason | length) == 0 then $who + "no reason for the arrival mode"
    elif ([.channels[] | select(.send.messages > 0)] | length) == 0 then $who + "no channel was used"
    elif .peer_memory.send_queue_bytes == 0 then $who + "no size of the send queue"
    else empty end'

# case_summary: ARGUMENTS is the setting (E15).
case_summary() {
    local setting=$4 arrival=mixed
    [ "${RDMA_VM_FABRIC:?a case for tools/rdma-vm}" = rxe ] || arrival=polled # what auto comes to
    case $RDMA_VM_FABRIC/$setting in
        */notified | */polled) arrival=$setting ;;
        rxe/default) arrival=notified ;; # four ranks on two processors sleep
    esac
    judge_summary "$log_dir/summary-$setting.json" "$setting" "$2" "$3" "$5" "$6" \
        '.reports[0] | "\(.provider) (\(.protocol)) on \(.interface), \(.arrival): \(.arrival_reason)"' \
        --arg fabric "$RDMA_VM_FABRIC" --arg arrival "$arrival" "$summary_program"
}

# ---- rendezvous ---------------------------------------------------------------------------------

# How the data of a program went over an RDMA device: by writes, whose end comes as immediate data (RoCE) or as a
# message (iWARP), and none of it through a ring.
# shellcheck disable=SC2016 # a jq program
data_path_program='
    .totals.rendezvous as $rendezvous |
    (if $fabric == "rxe" then "ends_by_immediate" else "ends_by_message" end) as $used |
    (["ends_by_immediate", "ends_by_message"] - [$used])[0] as $unused |
    if $rendezvous.reads == 0 or $rendezvous.read_bytes == 0 then "nothing was read without a copy"
    elif $rendezvous[$used] == 0 then "\($used): expected more than 0"
    elif $rendezvous[$unused] != 0 then "\($unused): expected 0, got \($rendezvous[$unused])"
    elif $rendezvous.read_bytes != $rendezvous.response_bytes then
        "\($rendezvous.read_bytes) bytes were read, \($rendezvous.response_bytes) in responses"
    elif $rendezvous.fragment_bytes != 0 then "\($rendezvous.fragment_bytes) bytes went through rings"
    elif $rendezvous.refused != 0 then "\($rendezvous.refused) registrations were refused"
    else empty end'

# case_data_path: ARGUMENTS is "SETTING PROGRAM_ARGUMENT...".
case_data_path() {
    local setting program_arguments
    read -r setting program_arguments <<<"$4"
    judge_summary "$log_dir/data_path-$3-$setting.json" "$setting" "$2" "$3" "$5" "$6" \
        '.totals.rendezvous | "\(.reads) reads, \(.ends_by_immediate) ends by immediate data, " +
            "\(.ends_by_message) by message, " +
            "\(.read_bytes) bytes without a copy, \(.fragment_bytes) through rings"' \
        --arg fabric "${RDMA_VM_FABRIC:?a case for tools/rdma-vm}" "$data_path_program"
}

# ---- locked memory ------------------------------------------------------------------------------

# run_locked KIB LOG LIMIT COMMAND...: under this limit of locked memory, and without CAP_IPC_LOCK, which would lift it.
run_locked() {
    local kib=$1 log=$2 limit=$3
    shift 3
    run_job "$log" "$limit" bash -c 'ulimit -l "$0" && exec setpriv --bounding-set -ipc_lock env "$@"' "$kib" "$@"
}

# case_locked: ARGUMENTS is "KIB WARNINGS SETTING PROGRAM_ARGUMENT...". All data arrives; WARNINGS is "some" where
# memory does not suffice for large rings. None of the processes warns twice.
case_locked() {
    local ranks=$2 test_program=$3 limit=$5 log=$6 kib warnings setting rest words count
    read -r kib warnings setting rest <<<"$4"
    set_words "$setting"
    # shellcheck disable=SC2086 # arguments are words
    run_locked "$kib" "$log" "$limit" "${words[@]}" "${mpiexec[@]}" -n "$ranks" \
        "$work/bin/$test_program" $rest "seed=$seed"
    check_job "$test_program" "$limit" "$log"
    [ -z "$reason" ] || return 0
    local text="memory could not be registered: .*(ulimit -l $kib)"
    count=$(grep -c "^bufenlarge: rank [0-9]*: warning: $text" "$log.err" || true)
    if [ "$(grep -c . "$log.err" || true)" -ne "$count" ]; then
        reason="standard error has more than warnings of the limit"
    elif [ -n "$(grep -o '^bufenlarge: rank [0-9]*' "$log.err" | sort | uniq -d)" ]; then
        reason="a process warned twice"
    elif [ "$warnings" = some ] && [ "$count" -eq 0 ]; then
        reason="no process warned of the limit"
    fi
    remark="$count of $ranks processes warned"
}

# case_unlockable: ARGUMENTS is KIB, too little for a single connection.
case_unlockable() {
    local ranks=$2 test_program=$3 limit=$5 log=$6
    run_locked "$4" "$log" "$limit" MPIR_CVAR_NOLOCAL=1 "${mpiexec[@]}" -n "$ranks" "$work/bin/$test_program"
    check_refusal "$limit" "$log" "no memory could be registered for the rings of a new connection: " \
        "bytes were refused" "this process may lock $(($4 * 1024)) (ulimit -l $4)"
}
