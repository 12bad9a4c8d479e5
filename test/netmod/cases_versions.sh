# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Cases of what not every version of MPICH has, or does right. Sourced. Bash.
# shellcheck disable=SC2154 # variables shared with run

# Prints the MPICH's version; nothing where there is no prefix.
version_of_prefix() { mpich_says "${prefix-}" Version 2>/dev/null || true; }

# With PMI-2, where MPICH chooses PMI when it runs. Else it is PMI-1.
pmi2_environment() { echo "$(setting_environment "${1#pmi2-}") MPIR_CVAR_PMI_VERSION=2"; }

# 4.0 counts by int in one-sided operations. Up to 4.3 a session has no communicator of some processes before one of
# all.
version_cases() {
    local version
    version=$(version_of_prefix)
    case $version in
        4.0*) program_case large_counts default 2 rounds=0 ;;
        *) program_case large_counts default 2 ;;
    esac
    case $version in 4.0* | 4.1*) ;; *) pmi2_cases ;; esac
    case $version in 4.*) ;; *) session_cases ;; esac
    own_vcis_cases
}

pmi2_cases() {
    local name
    for name in p2p_sizes comms; do program_case "$name" pmi2-default 4; done
    for name in guests parting; do program_case "$name" pmi2-default 1; done
}

session_cases() {
    program_case session_groups default 5
    program_case session_groups shm 4
}
