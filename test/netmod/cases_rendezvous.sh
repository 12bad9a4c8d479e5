# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The cases of data that goes without a copy, as in cases.sh. Sourced. Bash.
# shellcheck disable=SC2154 # variables shared with run

rendezvous_programs=(rendezvous rendezvous_types rendezvous_memory rendezvous_onesided rendezvous_end)

# Every program, with data of all kinds around a size of 1 KiB, from which on data is read.
read_cases() {
    local name
    for name in "${programs[@]}"; do
        program_case "$name" read 4
    done
    for name in p2p_sizes p2p_random p2p_modes datatypes onesided onesided_puts; do
        program_case "$name" read-three 4
        program_case "$name" read-one-slot 3
        program_case "$name" read-slots64 3
    done
    for name in rendezvous rendezvous_types onesided_atomic partitioned; do
        program_case "$name" read-slots64 2
    done
    program_case p2p_random read-whole 4
    program_case rendezvous read-whole 2
    for name in p2p_sizes p2p_random datatypes collectives onesided onesided_puts starve; do
        program_case "$name" copied 4
    done
}

# A process is lost in the middle of rendezvous messages. The number is its role in rendezvous_lost.c.
lost_cases() {
    local setting
    for setting in "$@"; do
        echo "lost/sender-$setting/4|lost|4|rendezvous_lost|$setting rounds=0|60"
        echo "lost/receiver-$setting/4|lost|4|rendezvous_lost|$setting rounds=1|60"
        echo "lost/both-$setting/4|lost|4|rendezvous_lost|$setting rounds=2|60"
        echo "lost/not-received-$setting/4|lost|4|rendezvous_lost|$setting rounds=3|60"
        echo "lost/target-$setting/4|lost|4|rendezvous_lost|$setting rounds=5|60"
        echo "lost/aborting-$setting/4|aborted|4|rendezvous_lost|$setting rounds=4|60"
    done
}

# Data that goes without a copy, from the default size on, from the smallest, and through rings.
rendezvous_cases() {
    local name
    for name in "${rendezvous_programs[@]}"; do
        program_case "$name" default 4
        program_case "$name" read 2
        program_case "$name" read-three 4
        program_case "$name" copied 2
    done
    program_case rendezvous megabytes 2 "bytes=64M rounds=1"
    program_case p2p_random megabytes 4 "bytes=4M rounds=6"
    program_case p2p_modes megabytes 4 bytes=3M
    program_case partitioned megabytes 4 bytes=12M
    program_case collectives megabytes 4 bytes=1M
    program_case collectives_v megabytes 3 bytes=400000
    program_case onesided megabytes 4 bytes=4M
    program_case onesided_atomic megabytes 3 bytes=1M
    for name in onesided onesided_puts rendezvous_onesided; do program_case "$name" unregistered 3; done
    program_case rendezvous_flight default 2 "bytes=64M rounds=10"
    echo "copyless/default/2|copyless|2|rendezvous_flight|default 16777216|60"
    lost_cases default three
}

# Over an RDMA device: from the default size on, and from 16 KiB on. rendezvous_end still replies after its report is
# made.
# Derived datatypes, memory that is given back between uses, and windows.
device_rendezvous_cases() {
    local name setting
    for setting in default read16k; do
        echo "rendezvous/$setting/2|data_path|2|rendezvous|$setting bytes=1M rounds=1|120"
        echo "rendezvous_flight/$setting/2|data_path|2|rendezvous_flight|$setting|120"
        program_case rendezvous_end "$setting" 2
    done
    for name in rendezvous_types rendezvous_memory rendezvous_onesided; do device_case "$name" default 2; done
}

# What --full has besides.
larger_cases() {
    local name
    for name in "${rendezvous_programs[@]}"; do
        program_case "$name" three 2
        program_case "$name" one-slot 3
        program_case "$name" mixed 4
        program_case "$name" shm 4
        program_case "$name" default 8
    done
    program_case rendezvous megabytes 4 "bytes=64M rounds=2"
    program_case rendezvous_flight megabytes 2 "bytes=256M rounds=2"
}
