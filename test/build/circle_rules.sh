# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# No circle among the netmod's files, and no call without a declaration; sourced by run.
#
# The objects are those of MPICH's own build, which tools/suite brings up to date before: they are compiled with the
# flags and headers that are shipped, and cost nothing more. A compilation of our own would have to repeat both.

silent "no circle among the netmod's files" \
    python3 test/build/circles.py "${netmod_objects:-(no --netmod)}" src/netmod/bufenlarge/*.c
silent "what the netmod's files use of each other is declared in a header" \
    python3 test/build/circles.py --undeclared "${netmod_objects:-(no --netmod)}" src/netmod/bufenlarge/*.c
