# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Debian's Open MPI as something to compare with, over the kernel's TCP as bufenlarge here; sourced after common.sh.

# need_openmpi LOG
need_openmpi() { "$top/tools/debian-packages" "$1" openmpi-bin libopenmpi-dev gcc; }

# compile_openmpi WORK PROGRAM...: into WORK/openmpi; the log is where the script's `out` says.
# shellcheck disable=SC2154
compile_openmpi() {
    local work=$1 program
    shift
    mkdir -p "$work/openmpi"
    for program in "$@"; do
        step "$out/logs/compile-openmpi-$program.log" 120 "compiling $program for Open MPI" \
            mpicc.openmpi -O2 -Wall -Wextra -o "$work/openmpi/$program" "$top/bench/$program.c"
    done
}

# Options of its mpiexec. Messages go through sockets, never through shared memory, and more ranks than processors are
# allowed.
openmpi_root=()
[ "$(id -u)" -ne 0 ] || openmpi_root=(--allow-run-as-root)
openmpi_options=("${openmpi_root[@]}" --oversubscribe --bind-to none
    --mca btl_tcp_if_include lo --mca pml ob1 --mca btl tcp,self)
# The command that starts a job, to be followed by -n and the rest.
# shellcheck disable=SC2034 # of the scripts that source this
openmpi_run=(mpirun.openmpi "${openmpi_options[@]}")
