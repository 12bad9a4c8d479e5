# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Rules over the symbols of what was built; sourced by run. Which symbols: layer_symbols.txt.

# All code of the channel layer is in the objects that instantiate its templates for a port; those of the simulator
# and of the unit tests have no libfabric around it. The names of their sources, without ending:
channel_instances=(channels_over_sim_port channels_over_fake_port)

silent "objects of protocol/ call no libfabric, thread, clock, environment, MPI, input or output" \
    test/build/layer-symbols '^bufenlarge::' "$build/libbufenlarge_protocol.a"
for instance in "${channel_instances[@]}"; do
    # A program's object or an archive's, for automake begins its name with that of the program.
    mapfile -t objects < <(find "$build/test" "$build/src" -name "*-$instance.o" -o -name "$instance.o")
    silent "nor does the channel layer, in $instance" \
        test/build/layer-symbols '^bufenlarge::Channel<.*>::[a-z_]+\(' "${objects[@]:-$build/test/$instance.o}"
done
for program in unit_tests sim_tests; do
    report "$program contains no libfabric" "$(
        symbols=$(nm "$build/$program" 2>&1 | sed 's/.* //')
        grep -q '^main$' <<<"$symbols" || echo "there is no program $build/$program"
        grep -E '^fi_' <<<"$symbols")"
done

# As MPICH does it: the archive becomes part of a shared library. Weak symbols are the templates of the
# C++ library, which its headers make visible.
g++ -shared -o "$work/all.so" -Wl,--whole-archive "$build/libbufenlarge.a" -Wl,--no-whole-archive \
    -lfabric -lsodium -lpthread 2>"$work/shared.log" || true
report "only bufenlarge_* is visible from outside" "$(
    [ -e "$work/all.so" ] || { echo "no shared library:"; tail -n 3 "$work/shared.log"; }
    visible=$(nm -D --defined-only "$work/all.so" | awk '$2 ~ /^[A-Z]$/ && $2 != "W" && $2 != "V" { print $3 }')
    grep -q '^bufenlarge_version' <<<"$visible" || echo "$work/all.so lacks bufenlarge_version"
    grep -v '^bufenlarge_' <<<"$visible")"
report "docs/knobs.md is what bufenlarge_info --knobs-markdown prints" "$(
    diff docs/knobs.md <("$build/bufenlarge_info" --knobs-markdown) 2>&1)"
report "docs/performance-variables.md is what bufenlarge_info --variables-markdown prints" "$(
    diff docs/performance-variables.md <("$build/bufenlarge_info" --variables-markdown) 2>&1)"
