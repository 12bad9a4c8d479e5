# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs commands that end with "N passed, N failed", adds up their figures, shows how far they are, and keeps the
# names of failed cases; sourced by tools/suite after cache.sh. Bash.
#
# A case is a line of the command's log: "ok ...", or "not ok ...", "FAIL ...", "failed: ..." and what failed. The
# Catch2 programs write no such lines while they run; their cases are counted in the report (the log's name, .xml).

passed=0 failed=0
# One line per failed case, "NAME: log"; ./check names them again at its end.
failed_list=$logs/suite-$name.failed
: >"$failed_list"

failed_case='^(not ok:?|FAIL|failed:|not ended:) +'

failed_cases() { # failed_cases LOG
    sed -nE "s/$failed_case//p" "$1"
}

# count LOG: adds the figures of the log's last line "N passed, N failed"; a log without that line counts as a failure.
count() {
    local figures
    figures=$(tail -n 1 "$1" | sed -n 's/^\(.*: \)\{0,1\}\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\2 \3/p')
    if [ -z "$figures" ]; then
        note "no result at the end of $1"
        failed=$((failed + 1))
    else
        passed=$((passed + ${figures% *}))
        failed=$((failed + ${figures#* }))
    fi
}

# name_failures LOG TEXT COUNT: writes the failed cases into the list; of those that the log does not name, the number.
name_failures() {
    local log=$1 text=$2 count=$3 line named=0
    while [ "$named" -lt "$count" ] && IFS= read -r line; do
        named=$((named + 1))
        case $line in
            *"log: /"*) printf '%s\n' "${line:0:400}" ;;
            *) printf '%s; log: %s\n' "${line:0:300}" "$log" ;;
        esac
    done < <(failed_cases "$log") >>"$failed_list"
    [ "$named" -ge "$count" ] ||
        printf '%s: %d failed that have no name; log: %s\n' "$text" $((count - named)) "$log" >>"$failed_list"
}

# cases_so_far LOG: prints how many cases of a running command have ended and how many of these have failed.
cases_so_far() {
    local log=$1 done_now=0 failed_now=0
    if [ -e "$log" ]; then
        done_now=$(grep -cE "^ok +|$failed_case" "$log") || true
        failed_now=$(grep -cE "$failed_case" "$log") || true
    fi
    if [ "$done_now" -eq 0 ] && [ -e "${log%.log}.xml" ]; then
        done_now=$(cat "${log%.log}".xml* | grep -c '<OverallResult ') || true
        failed_now=$(cat "${log%.log}".xml* | grep -c '<OverallResult success="false"') || true
    fi
    echo "$done_now $failed_now"
}

# show_progress LOG CASES: notes every half a minute how many cases have ended, until it is killed. If CASES is empty,
# a line "cases: N" of the log says how many there are. The newest failed case is named, for a run that is ended before
# it can name them all. It waits by read, because a sleep would outlive it.
show_progress() {
    local log=$1 cases=$2 quiet done_now failed_now of newest
    exec {quiet}<> <(:)
    while :; do
        read -r -t "${BUFENLARGE_PROGRESS_SECONDS:-30}" -u "$quiet" || true
        read -r done_now failed_now < <(cases_so_far "$log")
        [ -n "$cases" ] || cases=$(sed -n 's/^cases: \([0-9][0-9]*\)$/\1/p' "$log" 2>/dev/null | tail -n 1)
        of=${cases:+ of $cases}
        newest=$(failed_cases "$log" 2>/dev/null | tail -n 1) || newest=''
        note "suite $name: $done_now$of, $failed_now failed${newest:+, newest: ${newest:0:160}}"
    done
}

# show_failures LOG: shows the first ten failed cases of the log, each with the end of its own log if it names one; if
# it names no failed case, the log's end.
show_failures() {
    local log=$1 line own
    [ -n "$(failed_cases "$log")" ] || tail -n 40 "$log"
    while IFS= read -r line; do
        echo "not ok $line"
        own=${line##*log: }
        [ "$own" = "$line" ] || [ ! -r "$own" ] || tail -n 20 "$own" | sed 's/^/    /'
    done < <(failed_cases "$log" | sed 10q)
}

# run_counted LOG TEXT COMMAND...: runs a command that ends with "N passed, N failed". A command that fails without a
# failed case counts as one failure. The variable `cases` may say how many cases there are.
run_counted() {
    local log=$1 text=$2 status=0 before=$failed of_before=$((passed + failed)) results watcher
    note "$text"
    shift 2
    rm -f "$log" "${log%.log}".xml*
    show_progress "$log" "${cases-}" 9>&- </dev/null &
    watcher=$!
    BUFENLARGE_FAILED_LIST='' "$@" >"$log" 2>&1 </dev/null || status=$?
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    count "$log"
    results=$((passed + failed - of_before))
    if [ -n "${cases-}" ] && [ "$results" -ne "$cases" ]; then
        note "$results results of $cases cases"
        failed=$((failed + 1))
    fi
    if [ "$status" -ne 0 ] && [ "$failed" -eq "$before" ]; then
        note "ended with status $status"
        failed=$((failed + 1))
    fi
    [ "$failed" -gt "$before" ] || return 0
    name_failures "$log" "$text" $((failed - before))
    show_failures "$log" | cut -c 1-240 | sed 's/^/    | /' >&2
    note "log: $log"
}
