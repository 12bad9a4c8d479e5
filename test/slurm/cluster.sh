# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A Slurm of two nodes on this machine: a controller and two node daemons, each node with a port of its own, and a
# munged with a key of its own. Nothing of a Slurm that the machine may have is used. The nodes n1 and n2 share the
# network of this machine, or each has its own. Sourced. Bash.

cluster_pids=() node_addresses=(127.0.0.1 127.0.0.1) node_spaces=()

stop_cluster() {
    local pid
    for pid in ${cluster_pids[@]+"${cluster_pids[@]}"}; do kill "$pid" 2>/dev/null || true; done
    # A slurmd without its controller does not end.
    for _ in {1..50}; do
        kill -0 ${cluster_pids[@]+"${cluster_pids[@]}"} 2>/dev/null || break # none is left
        sleep 0.1
    done
    for pid in ${cluster_pids[@]+"${cluster_pids[@]}"}; do kill -KILL "$pid" 2>/dev/null || true; done
    wait ${cluster_pids[@]+"${cluster_pids[@]}"} 2>/dev/null || true
    remove_spaces ${node_spaces[@]+"${node_spaces[@]}"}
    cluster_pids=() node_spaces=()
}

# on_node 0|1 COMMAND...: runs it in the network of that node. Not by `ip netns exec`, which hides the mounts of /sys.
on_node() {
    within "$1"
    ${into[@]+"${into[@]}"} "${@:2}"
}

# within 0|1: sets `into`, the command that a command follows.
within() {
    into=()
    [ ${#node_spaces[@]} -eq 0 ] || into=(nsenter "--net=/run/netns/${node_spaces[$1]}")
}

# Gives each node a network namespace of its own, with no address of IPv4 but that of its loopback. A wire joins them.
make_ipv6_network() {
    node_addresses=(fd00:177::1 fd00:177::2) node_spaces=("bufenlarge-6a-$$" "bufenlarge-6b-$$")
    make_spaces "${node_spaces[@]}"
    join_spaces "${node_spaces[@]}" wire fd00:177::1/64 fd00:177::2/64
}

# daemon NODE NAME COMMAND...
daemon() {
    within "$1"
    ${into[@]+"${into[@]}"} "${@:3}" >"$cluster/$2.log" 2>&1 </dev/null &
    cluster_pids+=($!)
}

write_slurm_conf() {
    local i port=$((20000 + $$ % 4000 * 3)) host # below those that the kernel gives to whoever asks for any
    host=$(hostname)
    # PMIx has a folder for each step in a node's folder for temporary files, and two nodes cannot share it.
    mkdir -p "$cluster/state" "$cluster"/tmp.n{1,2}
    cat >"$cluster/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(${node_addresses[0]})
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.socket
CredType=cred/munge
StateSaveLocation=$cluster/state
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.%n.pid
SlurmdSpoolDir=$cluster/spool.%n
TmpFS=$cluster/tmp.%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
    [ ${#node_spaces[@]} -eq 0 ] ||
        echo "CommunicationParameters=EnableIPv6,DisableIPv4" >>"$cluster/slurm.conf"
    for i in 0 1; do
        port=$((port + 1))
        echo "NodeName=n$((i + 1)) NodeHostname=$host NodeAddr=${node_addresses[i]} Port=$port CPUs=4 State=UNKNOWN"
    done >>"$cluster/slurm.conf"
    export SLURM_CONF=$cluster/slurm.conf
}

# start_cluster FOLDER: returns when both nodes take jobs.
start_cluster() {
    local i pid
    cluster=$1
    mkdir -p "$cluster"
    trap stop_cluster EXIT
    head -c 128 /dev/urandom >"$cluster/munge.key"
    chmod 600 "$cluster/munge.key"
    daemon 0 munged munged --foreground --force --key-file="$cluster/munge.key" --socket="$cluster/munge.socket" \
        --pid-file="$cluster/munged.pid" --log-file="$cluster/munged.log" --seed-file="$cluster/munge.seed"
    write_slurm_conf
    daemon 0 slurmctld slurmctld -D -f "$SLURM_CONF"
    for i in 0 1; do daemon "$i" "slurmd-n$((i + 1))" slurmd -D -f "$SLURM_CONF" -N "n$((i + 1))"; done
    for _ in {1..150}; do
        [ "$(on_node 0 sinfo --noheader --Node --format=%t 2>/dev/null | grep -c '^idle$')" -ne 2 ] || return 0
        for pid in "${cluster_pids[@]}"; do kill -0 "$pid" 2>/dev/null || break 2; done # one has ended
        sleep 0.2
    done
    tail -n 5 "$cluster"/*.log >&2
    die "Slurm's nodes do not come up; logs: $cluster"
}
