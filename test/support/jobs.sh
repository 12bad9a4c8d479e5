# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the suites share that run programs of test/netmod by a command for each case. Sourced. Bash.
# shellcheck disable=SC2154 # $top, $prefix and $work are of run

passed=0 failed=0

# ok TEXT COMMAND...: a case, which passes if the command succeeds.
ok() {
    if "${@:2}" >"$work/log" 2>&1 </dev/null; then
        echo "ok    $1"
        passed=$((passed + 1))
    else
        echo "FAIL  $1"
        tail -n 15 "$work/log" | sed 's/^/          /'
        failed=$((failed + 1))
    fi
}

# right ARGUMENT...: succeeds if job(), which the suite has, prints "right" and nothing else.
right() { [ "$(job "$@" 2>&1 | tee /dev/stderr)" = right ]; }

# compile NAME: a program of test/netmod, into the work folder.
compile() {
    local source=$top/test/netmod
    "$prefix/bin/mpicc" -O2 -D_POSIX_C_SOURCE=200809L -std=c11 -Wno-stringop-overflow -o "$work/$1" "$source/$1.c" \
        "$source"/{support,data_pattern,layout,random_plan,random_actions}.c \
        "$source"/{collectives_support,window_support,thread_work}.c -lm
}
