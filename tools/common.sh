# SPDX-License-Identifier: MIT
# Shared by the shell tools of bufenlarge; sourced, never run. Bash.
#
# Every long command runs by step(): it has a time limit, no standard input and a log of its own, and when it
# fails, the error names the step and the log and shows the log's last lines.

program=${0##*/}

# A step may run a tool that has steps of its own. Through these two variables their progress goes to the screen,
# not to the log of the outer step, and counts the seconds from the same start.
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

# Prints progress, with the seconds since the command began, to standard error: standard output is for results.
note() {
    printf '[%5ds] %s\n' $((EPOCHSECONDS - BUFENLARGE_STARTED)) "$*" >&"$BUFENLARGE_PROGRESS"
}

# step LOG SECONDS_MAX TEXT COMMAND...: runs the command and ends this script if it fails.
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

# Prints a digest of the names and contents of the files that standard input names, one per line.
digest_of_files() {
    LC_ALL=C sort | tr '\n' '\0' | xargs -0 -r sha256sum | sha256sum | cut -c 1-16
}

digest_of_text() {
    sha256sum | cut -c 1-16
}

# put_if_changed NEW OLD: moves NEW over OLD if they differ, so that make rebuilds only what depends on a change.
put_if_changed() {
    if cmp -s "$1" "$2"; then
        rm -f "$1"
    else
        mkdir -p "$(dirname "$2")"
        mv "$1" "$2"
    fi
}

# copy_if_changed FROM TO: copies FROM to TO if they differ. The copy has FROM's mode and the present time.
copy_if_changed() {
    cmp -s "$1" "$2" && return 0
    mkdir -p "$(dirname "$2")"
    cp "$1" "$2.new"
    mv "$2.new" "$2"
}

# copy_changed_files FROM_DIR TO_DIR: copies the files that standard input names (relative to both folders).
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

# patches_of FOLDER: prints the patches of a version of MPICH in the order of its series, seen from the folder. Versions
# share patches.
patches_of() { grep -v '^#' "$1/series"; }

# mpich_says PREFIX Version|Device|configure|CC: prints what an installed MPICH says of itself.
mpich_says() { timeout 20 "$1/bin/mpichversion" </dev/null | sed -n "s/^MPICH $2:[[:space:]]*//p"; }

# check_prefix DIR DEVICE: an installation of MPICH, with this device unless that is "any".
check_prefix() {
    local device
    [ -x "$1/bin/mpicc" ] && [ -x "$1/bin/mpiexec" ] || die "no mpicc and mpiexec in $1/bin"
    [ "$2" != any ] || return 0
    device=$(mpich_says "$1" Device)
    [ "$device" = "$2" ] || die "$1 is not an MPICH of device $2: $device"
}
