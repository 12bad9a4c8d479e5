# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The kind of case in which processes outside the job connect to its ranks, as in case_kinds.sh. Sourced. Bash.
# shellcheck disable=SC2034,SC2154 # variables shared with run

# compile_unauthorized NAME: with the plain compiler, since it is not in the job.
compile_unauthorized() {
    local flags=(-std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra)
    [ -x "$work/bin/$1" ] || compile "$1" "${CC:-cc}" "${flags[@]}" "-I$prefix/include" -o "$work/bin/$1" "$here/$1.c" \
        "$here/listeners.c" "$here/data_pattern.c" -lfabric
}

# The ranks' processes, once all of them are there.
await_ranks() {
    local ranks=$1 pids end=$((EPOCHSECONDS + 20))
    while [ "$EPOCHSECONDS" -lt "$end" ]; do
        pids=$(job_ranks)
        [ "$(printf '%s\n' "$pids" | grep -c .)" -ne "$ranks" ] || break
        sleep 0.05
    done
    printf '%s\n' "$pids"
}

# case_unauthorized: ARGUMENTS is "CALLER SETTING". The job runs for some seconds; meanwhile the
# unauthorized caller connects to the ranks' ports. The job must end right, and the summary must count
# at least the connections that the caller saw refused.
case_unauthorized() {
    local ranks=$2 test_program=$3 limit=$5 log=$6 caller setting words summary status=0 pids
    local refused=0 counted
    command -v jq >/dev/null || { reason="jq is missing (Debian package jq)" && return; }
    read -r caller setting <<<"$4"
    set_words "$setting"
    summary=$log_dir/$caller-$setting.json
    rm -f "$summary"
    compile_unauthorized "$caller"
    job_start "$log" "${words[@]}" "MPIR_CVAR_BUFENLARGE_SUMMARY_FILE=$summary" \
        "${mpiexec[@]}" -n "$ranks" "$work/bin/$test_program" "seed=$seed" seconds=5
    pids=$(await_ranks "$ranks")
    # shellcheck disable=SC2086 # one word per process
    timeout -k 5 40 "$work/bin/$caller" 3 $pids >"$log.caller" 2>&1 || status=$?
    job_wait "$log" "$limit"
    { echo "==== $caller: status $status ====" && cat "$log.caller"; } >>"$log"
    if [ "$job_status" != 0 ] || ! grep -qx ' No Errors' "$log.out"; then
        reason="beside an unauthorized caller: $(job_reason "$log" "$limit")"
        return
    fi
    if [ "$status" -ne 0 ]; then
        reason="the unauthorized caller: $(tail -n 1 "$log.caller")"
        return
    fi
    counted=$(jq .totals.connects_refused "$summary") || { reason="no summary $summary" && return; }
    refused=$(sed -n 's/^refused //p' "$log.caller")
    [[ $counted =~ ^[0-9]+$ ]] || { reason="no count of refusals in $summary" && return; }
    [ "$caller" != unauthorized_fabric ] || [ "${refused:-0}" -gt 0 ] ||
        { reason="$caller was refused nothing" && return; }
    if [ "$counted" -lt "${refused:-0}" ]; then
        reason="the caller was refused $refused times, the summary counts $counted"
    fi
    remark="$counted connections refused"
}
