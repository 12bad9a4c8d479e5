# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs one MPI job at a time, bounded in time, and ends exactly its own processes. Sourced. Bash.
#
# mpiexec gives each process a process group of its own, and most a session, so neither tells which processes belong to
# a job. A variable in the environment does: every process of the job inherits it.

job_number=0
job_mark=''

# start_jobs WORK: once, before the first job.
start_jobs() {
    local pipe
    job_work=$1
    pipe=$(mktemp -u "${TMPDIR:-/tmp}/bufenlarge-job.XXXXXX") # a shared work folder may have no pipes
    mkfifo -m 600 "$pipe"
    exec {job_done}<>"$pipe"
    rm -f "$pipe"
    trap 'job_kill' EXIT
    trap 'exit 130' INT TERM HUP
}

# Numbers of the job's processes that are still there.
job_processes() {
    [ -n "$job_mark" ] || return 0
    { grep -lzxF "BUFENLARGE_TEST_JOB=$job_mark" /proc/[0-9]*/environ 2>/dev/null || true; } |
        sed 's|^/proc/\([0-9]*\)/environ$|\1|'
}

# Those of them that are ranks: they run a program from the work folder.
job_ranks() {
    local pid
    for pid in $(job_processes); do
        case $(readlink "/proc/$pid/exe" 2>/dev/null) in
            "$job_work"/bin/*) echo "$pid" ;;
        esac
    done
}

job_kill() {
    local pid _
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        # shellcheck disable=SC2046 # one word per process
        set -- $(job_processes)
        [ $# -gt 0 ] || return 0
        for pid in "$@"; do kill -KILL "$pid" 2>/dev/null || true; done
        sleep 0.1
    done
}

# job_stacks LOG: where each rank is.
job_stacks() {
    local pid
    {
        echo
        echo "==== stacks ===="
        command -v gdb >/dev/null || echo "there is no gdb (Debian package gdb), so no stacks"
        for pid in $(job_ranks); do
            echo "---- process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
            command -v gdb >/dev/null || continue
            timeout -k 5 30 gdb -nx -batch -p "$pid" -ex 'thread apply all backtrace 40' 2>/dev/null |
                grep -E '^(#|Thread)' || echo "gdb could not read it"
        done
    } >>"$1"
}

# job_start LOG COMMAND...: NAME=value words may come first. The job runs on; see job_wait.
job_start() {
    local log=$1
    shift
    job_number=$((job_number + 1))
    job_mark=$$-$job_number
    printf '# %s\n' "$*" >"$log"
    {
        status=0
        env "BUFENLARGE_TEST_JOB=$job_mark" "$@" </dev/null >"$log.out" 2>"$log.err" || status=$?
        echo "$job_mark $status" >&"$job_done"
    } &
    job_shell=$!
}

# Since the machine was started: the wall clock of a guest may be set meanwhile.
uptime_seconds() {
    local uptime
    read -r uptime _ </proc/uptime
    echo "${uptime%.*}"
}

# job_wait LOG SECONDS: leaves in job_status the exit status, or "hang", and in job_left how many ranks were left. The
# log then has standard output and error; LOG.out and LOG.err stay as they were.
job_wait() {
    local log=$1 limit=$2 mark='' left=$2 end
    end=$(($(uptime_seconds) + limit))
    while [ "$mark" != "$job_mark" ] && [ "$left" -gt 0 ]; do
        # It may also end early, without a word.
        read -r -t "$left" -u "$job_done" mark job_status || sleep 0.1
        left=$((end - $(uptime_seconds)))
    done
    if [ "$mark" != "$job_mark" ]; then
        job_status=hang
        echo "# no end after $limit seconds" >>"$log"
        job_stacks "$log"
    fi
    # A rank that was killed gives its memory back first, which takes a moment with sanitizers.
    for _ in {1..50}; do
        job_left=$(job_ranks | grep -c .) || true
        [ "$job_left" -gt 0 ] && [ "$job_status" != hang ] || break
        sleep 0.1
    done
    job_kill
    wait "$job_shell" 2>/dev/null || true
    {
        echo "==== standard output ===="
        cat "$log.out"
        echo "==== standard error ===="
        cat "$log.err"
        echo "==== status: $job_status ===="
    } >>"$log"
}

# run_job LOG SECONDS COMMAND...
run_job() {
    job_start "$1" "${@:3}"
    job_wait "$1" "$2"
}

# Why a job that should have been right was not, in one line.
job_reason() {
    local log=$1 limit=$2 line
    if [ "$job_status" = hang ]; then
        echo "no end after $limit seconds, stacks of the ranks are in the log"
        return
    fi
    line=$(grep -m 1 -E '^[a-z_0-9]+: rank [0-9]+ of|ERROR: AddressSanitizer|runtime error:' "$log.err" ||
        grep -m 1 -v '^ *$' "$log.err" || true)
    echo "exit status $job_status${line:+: ${line:0:300}}"
}
