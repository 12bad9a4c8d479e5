# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Cases in which ranks die and the process manager lets the others live. Sourced.
# shellcheck disable=SC2034,SC2154 # variables shared with run

death_scenes=(two again bystanders unknown sends any windows repair)
window_scenes=(fences groups locks frees survivors)
node_operations=(barriers allreduces reduces broadcasts)
node_moments=('' early- preparing-)
window_kinds=(create allocate shared dynamic)

# SETTING...: each scene of deaths.c, and those of deaths_windows.c that are promised: up to MPICH 4.2 what ends in a
# barrier is so without shared memory.
death_cases() {
    local setting i ranks version
    version=$(version_of_prefix)
    for setting in "$@"; do
        for i in "${!death_scenes[@]}"; do
            echo "deaths/${death_scenes[i]}-$setting/4|lost|4|deaths|$setting rounds=$i|60"
        done
        for i in "${!window_scenes[@]}"; do
            ranks=4
            case ${window_scenes[i]}/$setting/$version in
                fences/shm/4.[0-2]* | frees/shm/4.[0-2]*) continue ;;
                # Of 8 some learn of the death from others only. The guest is too slow for 8.
                fences/* | frees/*) [ -n "${RDMA_VM_FABRIC-}" ] || ranks=8 ;;
            esac
            echo "deaths/${window_scenes[i]}-$setting/$ranks|lost|$ranks|deaths_windows|$setting rounds=$i|60"
        done
        [ "$setting" != shm ] || node_cases
        creation_cases "$setting"
        echo "deaths/comms-$setting/4|lost|4|deaths_comms|$setting rounds=0|60"
        echo "deaths/inter-$setting/4|lost|4|deaths_inter|$setting rounds=0|60"
        echo "deaths/later-$setting/4|lost|4|deaths_later|$setting rounds=0|60"
        echo "deaths/unreceived-$setting/3|lost|3|deaths_end|$setting rounds=0|60"
        echo "deaths/untold-$setting/4|lost|4|deaths_end|$setting rounds=1|60"
        echo "deaths/parted-$setting/3|lost|3|deaths_end|$setting rounds=2|60"
        # 4.0 and 4.1 cannot begin again, and 4.2 does not return this error.
        [[ $version == 4.[0-2]* ]] || echo "deaths/begin-again-$setting/3|lost|3|deaths_end|$setting rounds=3|60"
        echo "deaths/last-words-$setting/4|lost|4|last_words|$setting rounds=1|60"
        program_case revoked "$setting" 3
        program_case revoked_early "$setting" 4
        program_case revoked_accept "$setting" 3
        echo "deaths/orphans-$setting/3|lost|3|orphans|$setting rounds=0|60"
    done
}

node_cases() {
    local i moment name
    for moment in "${!node_moments[@]}"; do
        for i in "${!node_operations[@]}"; do
            name=${node_moments[moment]}${node_operations[i]}
            echo "deaths/node-$name/4|lost|4|deaths_node|shm rounds=$((4 * moment + i))|60"
        done
    done
}

# SETTING: windows of each kind, two moments each.
creation_cases() {
    local i moment name
    for i in "${!window_kinds[@]}"; do
        [ "${window_kinds[i]}" != shared ] || [ "$1" = shm ] || continue
        for moment in 0 1; do
            name=creation-${window_kinds[i]}-$moment-$1
            echo "deaths/$name/4|lost|4|deaths_creation|$1 rounds=$((4 * moment + i))|60"
        done
    done
}

# SETTING RETURN_RUNS FATAL_RUNS: random moments, with errors that return, also while children are started, and with
# errors that are fatal. BUFENLARGE_DYING_RUNS=N in the environment makes each case N runs (docs/long-runs.md).
dying_cases() {
    local ranks runs=${BUFENLARGE_DYING_RUNS:-$2} fatal_runs=${BUFENLARGE_DYING_RUNS:-$3}
    for ranks in 4 5 8; do echo "dying/return-$1/$ranks|dying|$ranks|dying|$1 0 $runs|$((60 + 25 * runs))"; done
    echo "dying/spawn-$1/5|dying|5|dying|$1 2 $runs|$((60 + 25 * runs))"
    echo "dying/fatal-$1/5|dying|5|dying|$1 1 $fatal_runs|$((60 + 25 * fatal_runs))"
}

# A process that died keeps the cells of shared memory that lead to it (docs/failures.md), so there are more of them.
# With the first seed two ranks die at the end of MPI_Finalize, where the others once waited for them in shared memory.
# With the last seed a rank dies in a broadcast, whose errors MPICH once linked to themselves: printing them had no end.
quick_death_cases() {
    death_cases default shm
    echo "revoked_between-dup/default/4|program|4|revoked_between|rounds=0|60"
    echo "revoked_between-window/default/4|program|4|revoked_between|rounds=1|60"
    echo "revoked_between-shrink/default/4|program|4|revoked_between|rounds=2|60"
    program_case signalled shm 4
    echo "callers-busy/default/1|lost|1|callers|default rounds=1|60"
    echo "callers-dead/default/1|lost|1|callers|default rounds=2|60"
    echo "callers-closed/default/1|lost|1|callers|default rounds=3|60"
    echo "deaths/unmet/2|lost|2|unmet|default rounds=0|120"
    echo "deaths/flooded/4|lost|4|flood_lost|limited rounds=4000|120"
    dying_cases default 6 6
    echo "dying/return-cells/5|dying|5|dying|cells 0 6|210"
    echo "dying/queue-cells/5|dying|5|deaths_cells|cells 0 12|360"
    echo "dying/finalize-cells/5|dying|5|dying|cells 0 8 987043|260"
    echo "dying/circle-default/5|dying|5|dying|default 1 2 662705|110"
}

# How a run of dying.c that is over ended wrongly: nothing when it was right. ROUNDS LOG.
dying_verdict() {
    if [ "$job_status" = hang ]; then
        echo "no end"
    elif grep -qiE "$crashes|Alarm clock|signal 14" "$2.err"; then
        echo "a survivor crashed, or took too long"
    elif ! grep -q '^seed [0-9]*: ' "$2.err"; then
        echo "the job did not begin"
    elif grep -q '^dying: rank' "$2.err"; then
        grep -m 1 '^dying: rank' "$2.err"
    elif [ "$job_left" -gt 0 ]; then
        echo "$job_left ranks were left when the job had ended"
    elif [ "$1" = 1 ] && ! grep -q '^seed [0-9]*: finalize' "$2.err"; then
        fatal_verdict "$2"
    elif grep -q 'a survivor ended with status' "$2.err"; then
        grep -m 1 'a survivor ended with status' "$2.err"
    elif [ "$1" = 2 ] && grep -q 'Fatal error in .*Init_thread' "$2.err"; then
        : # a child without its parents: Hydra ends all jobs of its mpiexec with it, also before the survivors' line
    elif ! grep -qx ' No Errors' "$2.out"; then
        echo "not ' No Errors'"
    fi
}

# The same with errors that are fatal: the job ends with one, whose text names who died, and whose class, the status, is
# MPIX_ERR_PROC_FAILED. A member of a collective operation may hear of it from another one, as MPI_ERR_OTHER, and Hydra
# makes one status of several. LOG.
fatal_verdict() {
    local failed=101 other=15 allowed seen
    seen=$(sed -n 's/^seed [0-9]*: \([a-z-]*\), .*/\1/p' "$1.err")
    allowed=" $failed "
    [ "$seen" != collectives ] || allowed+="$other $((failed | other)) "
    if [[ $allowed != *" $job_status "* ]]; then
        echo "$seen: status $job_status, expected one of:$allowed"
    elif ! grep -q 'Fatal error in ' "$1.err"; then
        echo "$seen: no error was printed"
    elif [ "$seen" != collectives ] && ! names_a_victim "$1.err"; then
        echo "$seen: no error names a rank that died"
    elif grep -q ' No Errors' "$1.out"; then
        echo "$seen: a survivor went on"
    fi
}

# Whether an error in this file says that a process is lost which the program said would die.
names_a_victim() {
    local victim
    for victim in $(sed -n 's/^seed .* ranks: //p' "$1"); do
        ! grep -q "is lost: rank $victim at \|process $victim is lost" "$1" || return 0
    done
    return 1
}

# case_dying: ARGUMENTS is "SETTING ROUNDS RUNS [SEED]". Each run has a seed of its own, or all have SEED; the log has
# the first that was wrong. A child tries to reach a parent that died until the time limit of connections.
case_dying() {
    local setting rounds runs fixed ranks=$2 log=$6 words i wrong drawn limit=40
    read -r setting rounds runs fixed <<<"$4"
    set_words "$setting" && words+=("${sanitizer_environment[@]}")
    [ "$rounds" != 2 ] || { limit=90 && words+=(MPIR_CVAR_BUFENLARGE_CONNECT_TIMEOUT=5s); }
    for ((i = 0; i < runs; i++)); do
        drawn=${fixed:-$((seed + i))}
        run_job "$log" "$limit" "${words[@]}" "${mpiexec[@]}" -disable-auto-cleanup -n "$ranks" \
            bash -c "$outlive" "$3" "$work/bin/$3" "rounds=$rounds" "seed=$drawn"
        wrong=$(dying_verdict "$rounds" "$log")
        [ -z "$wrong" ] || { reason="seed $drawn: $wrong" && return; }
    done
    remark="$runs runs"
}
