# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Rules over the symbols of what was built; sourced by run.

foreign='(fi_|pthread_|clock_|getenv|secure_getenv|MPI|PMPI)[A-Za-z_0-9]*$'
undefined() { nm -u "$@" 2>/dev/null | sed -n 's/^[[:space:]]*[Uw] //p' | sed 's/@.*//' | sort -u; }

for layer in protocol channel; do
    report "objects of $layer/ call no libfabric, thread, clock, environment or MPI" "$(
        undefined "$build/libbufenlarge_$layer.a" | grep -E "^$foreign")"
done
# The channel layer is templates: its code is in the programs that test it with another fabric.
for program in unit_tests sim_tests; do
    report "$program contains no libfabric" "$(
        [ -x "$build/$program" ] || echo "there is no $build/$program"
        { undefined "$build/$program"; nm --defined-only "$build/$program" | sed 's/.* //'; } | grep -E '^fi_')"
done

# As MPICH does it: the archive becomes part of a shared library. Weak symbols are the templates of the
# C++ library, which its headers make visible.
g++ -shared -o "$work/all.so" -Wl,--whole-archive "$build/libbufenlarge.a" -Wl,--no-whole-archive \
    -lfabric -lpthread 2>"$work/shared.log" || true
report "only bufenlarge_* is visible from outside" "$(
    [ -e "$work/all.so" ] || { echo "no shared library:"; tail -n 3 "$work/shared.log"; }
    nm -D --defined-only "$work/all.so" | awk '$2 ~ /^[A-Z]$/ && $2 != "W" && $2 != "V" && $3 !~ /^bufenlarge_/')"
report "docs/knobs.md is what bufenlarge_info --knobs-markdown prints" "$(
    diff docs/knobs.md <("$build/bufenlarge_info" --knobs-markdown) 2>&1)"
