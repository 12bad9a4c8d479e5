# SPDX-License-Identifier: MIT
# Shared by the shell tools of bufenlarge; sourced, never run. Bash.
#
# Every long command goes through step(): it is bounded in time, has no standard input, writes a log
# of its own, and its failure names the step, the log and the last lines of it.

program=${0##*/}

# A step may run a tool that has steps of its own. Their progress goes to the screen, not into the
# log of the outer step, and is counted from the same start: through these two variables.
if [ -z "${BUFENLARGE_STARTED-}" ] || ! { : >&"$BUFENLARGE_PROGRESS"; } 2>/dev/null; then
    exec {BUFENLARGE_PROGRESS}>&2
    BUFENLARGE_STARTED=$EPOCHSECONDS
    export BUFENLARGE_PROGRESS BUFENLARGE_STARTED
fi

# BUFENLARGE_FAILED_LIST is the file in which ./check looks for what failed; see tools/counted.sh.
die() {
    printf '%s: error: %s\n' "$program" "$*" >&2
    [ -z "${BUFENLARGE_FAILED_LIST-}" ] || printf '%s: %s\n' "$program" "$*" >>"$BUFENLARGE_FAILED_LIST" || true
    exit 1
}

# Progress, with the seconds since the command began. Standard error, so that standard output stays
# free for what was asked for.
note() {
    printf '[%5ds] %s\n' $((EPOCHSECONDS - BUFENLARGE_STARTED)) "$*" >&"$BUFENLARGE_PROGRESS"
}

# step LOG SECONDS_MAX TEXT COMMAND...
step() {
    local log=$1 limit=$2 text=$3 status=0
    shift 3
    mkdir -p "$(dirname "$log")"
    note "$text"
    timeout --kill-after=20 "$limit" "$@" >"$log" 2>&1 </dev/null || status=$?
    [ "$status" -eq 0 ] && return 0
    tail -n 15 "$log" | cut -c 1-240 | sed 's/^/    | /' >&2
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        die "$text: not finished after $limit seconds; log: $log"
    fi
    die "$text: failed with status $status; log: $log"
}

# Digest of the names and contents of the files given on standard input, one name per line.
digest_of_files() {
    LC_ALL=C sort | tr '\n' '\0' | xargs -0 -r sha256sum | sha256sum | cut -c 1-16
}

digest_of_text() {
    sha256sum | cut -c 1-16
}

# put_if_changed NEW OLD: moves NEW over OLD where they differ, so that make rebuilds only what a
# new content asks for.
put_if_changed() {
    if cmp -s "$1" "$2"; then
        rm -f "$1"
    else
        mkdir -p "$(dirname "$2")"
        mv "$1" "$2"
    fi
}

# copy_if_changed FROM TO: the same for a copy; keeps the mode, and gives the present time to what
# it writes.
copy_if_changed() {
    cmp -s "$1" "$2" && return 0
    mkdir -p "$(dirname "$2")"
    cp "$1" "$2.new"
    mv "$2.new" "$2"
}

# copy_changed_files FROM_DIR TO_DIR: copies the files named on standard input (relative names).
copy_changed_files() {
    local name
    while IFS= read -r name; do
        copy_if_changed "$1/$name" "$2/$name"
    done
}

absolute_dir() {
    [ -d "$1" ] || die "no such directory: $1"
    (cd "$1" && pwd -P)
}
