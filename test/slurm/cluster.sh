# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A Slurm of two nodes on this machine: a controller and two node daemons, each node with a port of its own, and a
# munged with a key of its own. Nothing of a Slurm that the machine may have is used. Sourced. Bash.
# shellcheck disable=SC2154 # $work is of run

cluster_pids=()

stop_cluster() {
    local pid
    for pid in ${cluster_pids[@]+"${cluster_pids[@]}"}; do kill "$pid" 2>/dev/null || true; done
    wait ${cluster_pids[@]+"${cluster_pids[@]}"} 2>/dev/null || true
}

# daemon NAME COMMAND...
daemon() {
    "${@:2}" >"$work/$1.log" 2>&1 </dev/null &
    cluster_pids+=($!)
}

write_slurm_conf() {
    local name port=$((20000 + $$ % 10000 * 3)) host
    host=$(hostname)
    mkdir -p "$work/state"
    cat >"$work/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmdSpoolDir=$work/spool.%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
    for name in n1 n2; do
        port=$((port + 1))
        echo "NodeName=$name NodeHostname=$host NodeAddr=127.0.0.1 Port=$port CPUs=4 State=UNKNOWN"
    done >>"$work/slurm.conf"
    export SLURM_CONF=$work/slurm.conf
}

# Returns when both nodes take jobs.
start_cluster() {
    local name
    trap stop_cluster EXIT
    head -c 128 /dev/urandom >"$work/munge.key"
    chmod 600 "$work/munge.key"
    daemon munged munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" \
        --pid-file="$work/munged.pid" --log-file="$work/munged.log" --seed-file="$work/munge.seed"
    write_slurm_conf
    daemon slurmctld slurmctld -D -f "$SLURM_CONF"
    for name in n1 n2; do daemon "slurmd-$name" slurmd -D -f "$SLURM_CONF" -N "$name"; done
    for _ in {1..150}; do
        [ "$(sinfo --noheader --Node --format=%t 2>/dev/null | grep -c '^idle$')" -ne 2 ] || return 0
        sleep 0.2
    done
    tail -n 5 "$work"/*.log >&2
    die "Slurm's nodes do not come up; logs: $work"
}
