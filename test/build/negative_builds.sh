# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the rules of circles, mutations, languages, releases, archives and commits must refuse; sourced by
# negative_rules.sh.

# netmod_code A_TEXT B_TEXT C_TEXT: three files, each with a function of its own name.
netmod_code() {
    local name
    rm -rf "$work/circle" && mkdir "$work/circle"
    for name in a b c; do
        printf 'void a(void), b(void), c(void); extern int state;\nvoid %s(void) { %s }\n' "$name" "$1" \
            >"$work/circle/$name.c"
        shift
    done
    echo 'int state;' >>"$work/circle/a.c"
    for name in a b c; do
        gcc -c -o "$work/circle/libmpi_la-$name.o" "$work/circle/$name.c"
    done
}
circles() { python3 test/build/circles.py "$work/circle" "$work/circle"/[abc].c 2>&1 || true; }

netmod_code 'b(); c();' 'c(); state = 1;' ''
report "files that use others only downwards, and state, are no circle" "$(circles)"
netmod_code 'b();' 'c();' 'b();'
report "refused: a circle of two files" "$(
    grep -qx 'a circle of 2 files: b.c c.c' <<<"$(circles)" || echo "circles.py printed: $(circles)")"
report "refused: and the call that closes it is named" "$(
    grep -qxE '  (b.c uses c.c: c|c.c uses b.c: b)' <<<"$(circles)" || echo "circles.py printed: $(circles)")"
report "refused: a function that no header declares" "$(
    undeclared=$(python3 test/build/circles.py --undeclared "$work/circle" "$work/circle"/[abc].c 2>&1)
    grep -qx 'a.c uses b of b.c, which no header declares' <<<"$undeclared" || echo "circles.py printed: $undeclared")"
echo 'void a(void), b(void), c(void);' >"$work/circle/abc.h"
report "functions that a header declares are allowed" "$(
    python3 test/build/circles.py --undeclared "$work/circle" "$work/circle"/[abc].c 2>&1)"
netmod_code 'b();' 'c();' ''
echo 'void (*const table[])(void) = { a };' >>"$work/circle/b.c"
echo 'extern void (*const table[])(void); void d(void); void d(void) { table[0](); }' >>"$work/circle/a.c"
gcc -c -o "$work/circle/libmpi_la-b.o" "$work/circle/b.c" && gcc -c -o "$work/circle/libmpi_la-a.o" "$work/circle/a.c"
report "refused: a circle through a table of functions" "$(
    grep -qx 'a circle of 2 files: a.c b.c' <<<"$(circles)" || echo "circles.py printed: $(circles)")"
rm "$work/circle/libmpi_la-c.o"
report "refused: a file without an object" "$(
    grep -q 'c.c has 0 objects' <<<"$(circles)" || echo "circles.py printed: $(circles)")"
netmod_code '' '' ''
report "refused: objects that do not use each other" "$(
    grep -q 'do not use each other' <<<"$(circles)" || echo "circles.py printed: $(circles)")"

echo 'constexpr int kTwo = 2; int main() { return kTwo; }' >"$work/constant.cc"
report "refused: a change that is built in and has no effect, and too few changes" "$(
    python3 test/build/mutations.py "$work/constant.cc" "$work/constant" >"$work/constant.log" 2>&1
    grep -q 'something else: 1: constexpr int kTwo = 3' "$work/constant.log" &&
        grep -q '^there are 1 changes' "$work/constant.log" || cat "$work/constant.log")"

sed -i 's/ gfortran ifx / gfortran /' "$copy/tools/mpich-build"
wrong "an MPICH without Fortran where its compiler is ifx" language \
    '^FAIL  configure is told of other Fortran compilers' tools/mpich-build
sed -i 's/trixie) mpich_version=4.2.1/trixie) mpich_version=4.0.2/' "$copy/tools/cache.sh"
wrong "another MPICH than that of the release" release '^FAIL  debian-13 has MPICH 4.2.1' tools/cache.sh

# run_refuses TEXT OFFENCE OPTION... RULES: run itself, with a build or objects that are not there.
run_refuses() {
    local text=$1 offence=$2
    shift 2
    test/build/run --work "$work/run-work" "$@" >"$work/run.log" 2>&1 </dev/null || true
    report "refused: $text" "$(grep -qE -- "^FAIL  $offence" "$work/run.log" || tail -n 5 "$work/run.log")"
}
mkdir -p "$work/nothing-built"
run_refuses "a build without the channel layer for the simulator" "nor does .* channels_over_sim_port" \
    --build "$work/nothing-built" symbol
run_refuses "a build without the channel layer for the unit tests" "nor does .* channels_over_fake_port" \
    --build "$work/nothing-built" symbol
run_refuses "a build without protocol/" "objects of protocol/" --build "$work/nothing-built" symbol
run_refuses "a build without a program" "sim_tests contains no libfabric" --build "$work/nothing-built" symbol
run_refuses "a build without a library" "only bufenlarge_\* is visible" --build "$work/nothing-built" symbol
run_refuses "a build of MPICH without the netmod" "no circle" --build "$build" --netmod "$work/nothing-built" circle
report "run knows every file of rules" "$(
    diff <(printf 'test/build/%s_rules.sh\n' "${all_rules[@]}" | grep -Ev '/(refusals|installation)_' | sort) \
        <(printf '%s\n' test/build/*_rules.sh | sort))"

if declare -F archive_offenders >/dev/null && [ -d "${unpacked-}" ]; then
    { cat "$archive/files" && echo docs/new.md; } >"$work/more-files"
    report "refused: an archive that lacks a page" "$(
        grep -qx 'not in the archive: docs/new.md' <<<"$(archive_offenders "$unpacked" "$work/more-files")" ||
            echo "not refused")"
    sed 1d "$archive/files" >"$work/less-files"
    report "refused: an archive with a file that the tree does not have" "$(
        grep -q '^only in the archive: ' <<<"$(archive_offenders "$unpacked" "$work/less-files")" ||
            echo "not refused")"
fi

mkdir -p "$work/commits"
in_commits() {
    git -C "$work/commits" -c user.name=name -c user.email=name@example.org -c init.defaultBranch=main \
        -c commit.gpgsign=false -c core.hooksPath=/dev/null "$@"
}
commit() { in_commits commit --quiet --allow-empty -m "$1" ${2:+-m "$2"}; }
# refused_commit OFFENCE SUBJECT [BODY]
refused_commit() {
    local said
    commit "${@:2}"
    said=$(test/build/commit-messages "$work/commits" HEAD~1)
    report "refused: the commit '${2:0:50}': $1" "$(grep -qF -- "$1" <<<"$said" || echo "it printed: $said")"
}
in_commits init --quiet
commit "area: Begin" "It begins."
commit "test/build: Check the messages of commits" "They are read for years."
commit "test/build, CHANGELOG: Pass a page at the root" "It is an area too."
commit "area: Pass the port's (own) limit" "It is known there.

Signed-off-by: Name <name@example.org>"
report "good messages of commits pass" "$(test/build/commit-messages "$work/commits" HEAD~3)"
refused_commit "there is no body" "area: Add a thing"
refused_commit "there is no body" "area: Add a thing" "Signed-off-by: Name <name@example.org>"
refused_commit "not 'area: Imperative subject'" "Add a thing" "A body."
refused_commit "not 'area: Imperative subject'" "area: add a thing" "A body."
refused_commit "not 'area: Imperative subject'" "Area: Add a thing" "A body."
refused_commit "'Added' is not imperative" "area: Added a thing" "A body."
refused_commit "'Adds' is not imperative" "area: Adds a thing" "A body."
refused_commit "ends with a full stop" "area: Add a thing." "A body."
refused_commit "has 73 columns" "area: Add $(printf '%063d' 0)" "A body."
