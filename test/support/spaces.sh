# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Network namespaces, each a host of its own for the jobs of a suite. Needs root. Sourced. Bash.

# make_spaces SPACE...: each has nothing but its loopback.
make_spaces() {
    local space
    for space in "$@"; do
        ip netns add "$space"
        ip -n "$space" link set lo up
    done
}

# join_spaces SPACE SPACE WIRE ADDRESS ADDRESS: joins two by interfaces of this name. An address has its prefix. That of
# IPv6 is there at once: nobody else can have it.
join_spaces() {
    local i space=("$1" "$2") address=("$4" "$5") at_once
    ip -n "$1" link add "$3" type veth peer name "$3" netns "$2"
    for i in 0 1; do
        at_once=()
        [[ ${address[i]} != *:* ]] || at_once=(nodad)
        ip -n "${space[i]}" address add "${address[i]}" dev "$3" ${at_once[@]+"${at_once[@]}"}
        ip -n "${space[i]}" link set "$3" up
    done
}

# remove_spaces SPACE...: those that are there.
remove_spaces() {
    local space
    for space in "$@"; do ip netns delete "$space" 2>/dev/null || true; done
}
