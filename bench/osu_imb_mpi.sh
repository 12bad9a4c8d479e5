# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The MPIs that bench/osu-imb was given: their compilers, and how a job of each is started; sourced by it.

names=()
declare -A mpicc_of mpicxx_of mpiexec_of mpichversion_of kind_of

# tool_of PREFIX NAME TOOL: nothing where there is none.
tool_of() {
    local file
    for file in "$1/bin/$3.$2" "$1/bin/$3"; do
        [ ! -x "$file" ] || { printf '%s\n' "$file" && return 0; }
    done
}

# kind NAME: how to keep this MPI to one path: mpich and its device, or openmpi.
kind() {
    local said
    said=$("${mpiexec_of[$1]}" --version 2>&1 </dev/null) || true
    case $said in
        *OpenRTE* | *"Open MPI"*) echo openmpi ;;
        *HYDRA*)
            [ -n "${mpichversion_of[$1]}" ] || { echo unknown && return 0; }
            "${mpichversion_of[$1]}" | sed -n 's/^MPICH Device:[[:space:]]*/mpich /p'
            ;;
        *) echo unknown ;;
    esac
}

# look_at_mpis: fills the tables above from the script's `mpis`.
# shellcheck disable=SC2034,SC2154
look_at_mpis() {
    local given name place tool
    [ ${#mpis[@]} -gt 0 ] || mpis=(bufenlarge)
    for given in "${mpis[@]}"; do
        if [ "$given" = bufenlarge ]; then
            prefix=''
            find_prefix
            given=bufenlarge=$prefix
        fi
        [[ $given =~ ^[A-Za-z0-9][A-Za-z0-9_.-]*=. ]] ||
            die "--mpi '$given': allowed is NAME=PREFIX; a name has letters, digits and -_."
        name=${given%%=*} place=${given#*=}
        [ -z "${mpiexec_of[$name]-}" ] || die "--mpi: '$name' is there twice"
        [ -d "$place" ] || die "--mpi $name: no such directory: $place"
        for tool in mpicc mpiexec; do
            [ -n "$(tool_of "$place" "$name" "$tool")" ] || die "--mpi $name: no $tool.$name and no $tool in $place/bin"
        done
        mpicc_of[$name]=$(tool_of "$place" "$name" mpicc)
        mpicxx_of[$name]=$(tool_of "$place" "$name" mpicxx)
        mpiexec_of[$name]=$(tool_of "$place" "$name" mpiexec)
        mpichversion_of[$name]=$(tool_of "$place" "$name" mpichversion)
        kind_of[$name]=$(kind "$name")
        # An MPICH without C++ has none; its mpicc takes another compiler.
        [[ -n ${mpicxx_of[$name]} || ${kind_of[$name]} != mpich* ]] ||
            mpicxx_of[$name]="${mpicc_of[$name]} -cc=${CXX:-c++}"
        [ -z "$imb" ] || [ -n "${mpicxx_of[$name]}" ] ||
            die "--mpi $name: no mpicxx in $place/bin; Intel's benchmarks are C++"
        [ "$path" = own ] || [ "${kind_of[$name]}" != unknown ] ||
            die "--mpi $name is neither MPICH with its mpichversion nor Open MPI:" \
                "how to keep it to TCP is not known; choose --path own and its settings yourself"
        names+=("$name")
    done
}

# mpi_command NAME: sets `command` to what starts a job, to be followed by -n and the rest.
# shellcheck disable=SC2054,SC2154
mpi_command() {
    local mpiexec=${mpiexec_of[$1]} root=()
    [ "${kind_of[$1]}" != openmpi ] || root=("${openmpi_root[@]}")
    if [ "$path" = own ]; then
        command=(env "${chosen_here[@]}" "$mpiexec" "${root[@]}")
        return 0
    fi
    case ${kind_of[$1]} in
        openmpi)
            # Windows would be in shared memory otherwise: of osc sm, or of UCX below osc ucx.
            command=("$mpiexec" "${openmpi_options[@]}" --mca osc ^sm,ucx)
            ;;
        "mpich ch4:bufenlarge")
            command=(env MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_BUFENLARGE_PROVIDER=tcp "$mpiexec" -bind-to none)
            ;;
        *)
            command=(env MPIR_CVAR_NOLOCAL=1 'FI_PROVIDER=tcp;ofi_rxm' UCX_TLS=tcp,self UCX_NET_DEVICES=lo
                "$mpiexec" -bind-to none)
            ;;
    esac
}

# mpi_text NAME: version and device, for the header of raw.tsv, and the settings of its path.
mpi_text() {
    local command
    mpi_command "$1"
    case ${kind_of[$1]} in
        mpich*) "${mpichversion_of[$1]}" | sed -n 's/^MPICH Version:[[:space:]]*\(.*\)/MPICH \1, /p' | tr -d '\n' ;;
        *) "${mpiexec_of[$1]}" --version 2>&1 </dev/null | awk 'NR == 1 { printf "%s, ", $0 }' ;;
    esac
    printf '%s, %s' "${kind_of[$1]#mpich }" "$(printf ' %s' "${command[@]##*/}" | cut -c 2-)"
}
