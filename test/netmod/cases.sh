# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Which cases there are. A line per case: name|kind|ranks|program|arguments|limit in seconds.
# Sourced. Bash.
# shellcheck disable=SC2154 # variables shared with run

programs=(demo growth p2p_sizes p2p_random p2p_modes p2p_unexpected datatypes collectives
    collectives_v collectives_neighbor onesided onesided_atomic onesided_puts threads starve partitioned comms)
# Over a device with three phases; --device-all and --hosts-all have all programs.
three_programs=(p2p_sizes p2p_random datatypes collectives onesided)
settings=(default slots100 three off one-slot first whole threshold shm mixed read)

# Environment of a setting. All but shm, cells and mixed keep the ranks off shared memory. Those about rings have two
# phases (seed: those of the default), and make them grow at the first element that does not fit, for good: few programs
# here send enough to earn it.
setting_environment() {
    local knob=MPIR_CVAR_BUFENLARGE rings="MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_BUFENLARGE_GROWTH=first"
    rings+=" ${knob}_PHASES=512,8256 ${knob}_SHRINK_AFTER=off"
    case $1 in
        default | megabytes) echo MPIR_CVAR_NOLOCAL=1 ;; # the second with larger data
        slots100) echo "$rings ${knob}_PHASES=100,8192" ;;
        three) echo "$rings ${knob}_PHASES=256,2048,16384" ;;
        off) echo "MPIR_CVAR_NOLOCAL=1 ${knob}_ENLARGEMENT=off" ;;
        one-slot) echo "$rings ${knob}_SLOTS=1" ;;
        first) echo "$rings" ;;
        seed) echo "MPIR_CVAR_NOLOCAL=1 ${knob}_GROWTH=first ${knob}_SHRINK_AFTER=off" ;;
        whole) echo "$rings ${knob}_VECTOR=whole" ;;
        threshold) echo "$rings ${knob}_THRESHOLD=80%" ;;
        shm) echo MPIR_CVAR_NOLOCAL=0 ;;
        cells) echo MPIR_CVAR_NOLOCAL=0 MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS=512 ;;
        notified | polled) echo "$rings ${knob}_ARRIVAL=$1" ;;
        # As where there are as many processors as ranks: those that wait do not sleep, so not all slots are notified.
        awake) echo "$rings ${knob}_SLEEP_AFTER=never" ;;
        # Fewer hot channels than peers.
        cold) echo "$rings ${knob}_SLEEP_AFTER=never ${knob}_HOT_CHANNELS=0" ;;
        one-hot) echo "$rings ${knob}_SLEEP_AFTER=never ${knob}_HOT_CHANNELS=1" ;;
        read) echo "MPIR_CVAR_NOLOCAL=1 ${knob}_RENDEZVOUS=1024" ;;
        read16k) echo "MPIR_CVAR_NOLOCAL=1 ${knob}_RENDEZVOUS=16384" ;;
        read-three) echo "$rings ${knob}_RENDEZVOUS=1024 ${knob}_PHASES=256,2048,16384" ;;
        read-one-slot) echo "$rings ${knob}_RENDEZVOUS=1024 ${knob}_SLOTS=1" ;;
        # The smallest slots there are: headers in fragments, one segment in a request.
        read-slots64) echo "MPIR_CVAR_NOLOCAL=1 ${knob}_RENDEZVOUS=1024 ${knob}_PHASES=64" ;;
        unregistered) echo "MPIR_CVAR_NOLOCAL=1 ${knob}_WINDOW_MEMORY=0" ;; # windows by messages alone
        read-whole) echo "$rings ${knob}_RENDEZVOUS=1024 ${knob}_VECTOR=whole" ;;
        copied) echo "MPIR_CVAR_NOLOCAL=1 ${knob}_RENDEZVOUS=off" ;;
        three-notified) echo "$rings ${knob}_ARRIVAL=notified ${knob}_PHASES=256,2048,16384" ;;
        mixed) echo "MPIR_CVAR_NOLOCAL=0 MPIR_CVAR_NUM_CLIQUES=2" ;;
        sums) echo "MPIR_CVAR_NOLOCAL=1 ${knob}_SUMMARY_PROCESSES=4" ;;
        cap* | idle | budget | tight) closing_environment "$1" ;;
        limited | unlimited) flood_environment "$1" ;;
        shrink) echo "$rings ${knob}_SHRINK_AFTER=1ms" ;;
        vcis-* | streams-* | pmi2-* | kept*) "${1%%-*}_environment" "$1" ;;
        *) die "no setting '$1'; there are: ${settings[*]}" ;;
    esac
}

# Arguments that keep a program within some seconds on two processors.
small_arguments() {
    case $1 in
        p2p_sizes) echo bytes=256K ;;
        p2p_random) echo "bytes=256K rounds=10" ;;
        p2p_modes) echo bytes=100000 ;;
        datatypes) echo bytes=64K ;;
        collectives | collectives_v) echo bytes=66000 ;;
        onesided | onesided_atomic) echo bytes=70000 ;;
        threads) echo "bytes=100000 rounds=8" ;;
        starve) echo "bytes=4M rounds=1" ;;
    esac
}

# program_case PROGRAM SETTING RANKS [ARGUMENTS]: small arguments where none are given.
program_case() {
    local arguments=${4-$(small_arguments "$1")} limit=120
    [ "$3" -le 4 ] || limit=240
    [ "$3" -le 8 ] || limit=420
    [ "$mode" != sanitized ] || limit=$((limit * 4))
    echo "$1/$2/$3|program|$3|$1|$arguments|$limit"
}

quick_cases() {
    local name setting ranks
    for name in "${programs[@]}"; do program_case "$name" default 4; done
    for ranks in 2 3 8 16; do program_case p2p_random default "$ranks"; done
    program_case collectives default 3 bytes=8200
    program_case collectives default 8 bytes=8200
    program_case collectives default 16 bytes=520
    for setting in default off slots100; do
        program_case p2p_sizes "$setting" 2 bytes=64M
    done
    for setting in slots100 three off one-slot seed whole threshold; do
        for name in p2p_sizes p2p_random datatypes; do
            program_case "$name" "$setting" 4
        done
        program_case collectives "$setting" 4 bytes=8200
    done
    for setting in shm mixed; do
        for name in p2p_sizes p2p_random p2p_modes p2p_unexpected datatypes onesided comms; do
            program_case "$name" "$setting" 4
        done
        program_case collectives "$setting" 4 bytes=8200
    done
    read_cases
    rendezvous_cases
    closing_cases
    program_case stream default 4
    program_case threads one-slot 2
    program_case yields default 2
    for ranks in 2 $(($(nproc --all) + 2)); do program_case sessions default "$ranks"; done
    echo "allreduce/default/4|steps|4|allreduce|default 4800|60"
    program_case sleeps default 2
    program_case sleeps_crowded default $(($(nproc --all) + 2))
    program_case late default 3 seconds=12
    for name in guests parting; do program_case "$name" default 1; done
    program_case onesided one-slot 3
    for setting in slots100 off one-slot first threshold; do program_case onesided_puts "$setting" 3; done
    program_case starve one-slot 3
    program_case starve default 3 "bytes=32M rounds=1"
    flood_cases && stale_cases && quick_death_cases
}

full_cases() {
    local name setting ranks
    rendezvous_cases
    larger_cases
    for setting in "${settings[@]}"; do
        for name in "${programs[@]}"; do
            program_case "$name" "$setting" 3
            program_case "$name" "$setting" 4
        done
        program_case p2p_sizes "$setting" 2 bytes=64M
        program_case datatypes "$setting" 2 bytes=8M
        program_case onesided "$setting" 2 bytes=4M
        program_case onesided_atomic "$setting" 2 bytes=4M
        program_case collectives "$setting" 5 bytes=800000
        program_case collectives_v "$setting" 5 bytes=800000
        program_case starve "$setting" 5 "bytes=32M rounds=2"
        for ranks in 2 8; do
            program_case p2p_random "$setting" "$ranks" "bytes=1M rounds=20"
            program_case p2p_unexpected "$setting" "$ranks"
            program_case threads "$setting" "$ranks"
        done
        for name in "${programs[@]}"; do
            case $name in # 16 ranks of the others finish in seconds
                collectives | collectives_v) program_case "$name" "$setting" 16 bytes=8200 ;;
                *) program_case "$name" "$setting" 16 ;;
            esac
        done
    done
}

sanitized_cases() {
    local name setting
    for name in "${programs[@]}"; do
        program_case "$name" default 4
    done
    for setting in slots100 three one-slot mixed; do
        program_case p2p_random "$setting" 4
        program_case datatypes "$setting" 3
    done
    program_case collectives one-slot 4 bytes=8200
    for name in "${rendezvous_programs[@]}"; do program_case "$name" default 2; done
    for name in p2p_random datatypes onesided rendezvous_types; do program_case "$name" read 3; done
    lost_cases default
}

# An emulated processor is slow.
device_arguments() {
    case $1 in
        p2p_sizes) echo bytes=64K ;;
        p2p_random) echo "bytes=64K rounds=4" ;;
        p2p_modes) echo bytes=40000 ;;
        datatypes) echo bytes=16K ;;
        collectives | collectives_v) echo bytes=9000 ;;
        onesided | onesided_atomic) echo bytes=20000 ;;
        threads) echo "bytes=20000 rounds=3" ;;
        starve) echo "bytes=1M rounds=1" ;;
        stream) echo "bytes=64K rounds=4" ;;
        onesided_puts) echo rounds=1 ;;
    esac
}

device_case() { program_case "$1" "$2" "$3" "$(device_arguments "$1")"; }

# Less memory to lock than the rings would take, then next to none.
locked_cases() {
    local ranks
    for ranks in 2 4; do
        echo "locked/256/$ranks|locked|$ranks|p2p_random|256 some first $(device_arguments p2p_random)|120"
        echo "locked/512/$ranks|locked|$ranks|p2p_random|512 any first $(device_arguments p2p_random)|120"
        echo "locked/1024/$ranks|locked|$ranks|p2p_random|1024 any read $(device_arguments p2p_random)|120"
    done
    # Every size, because only data that is smaller than a rendezvous and larger than a slot enlarges a ring.
    echo "locked/256-read/2|locked|2|p2p_sizes|256 some read $(device_arguments p2p_sizes)|180"
    echo "locked/256-notified/4|locked|4|p2p_random|256 some notified $(device_arguments p2p_random)|180"
    echo "unlockable/4/2|unlockable|2|demo|4|60"
}

# With 2 ranks the programs run across two guests (hosts_cases). Four ranks on the guest's two processors sleep on RoCE.
device_cases() {
    local name setting
    for name in "${programs[@]}"; do device_case "$name" awake 4; done
    for name in "${three_programs[@]}"; do device_case "$name" three 4; done
    for name in p2p_random datatypes onesided; do
        for setting in cold one-hot; do device_case "$name" "$setting" 4; done
    done
    for name in stream p2p_sizes p2p_random p2p_unexpected datatypes collectives onesided onesided_puts \
        threads starve; do
        device_case "$name" notified 4
    done
    device_case p2p_random three-notified 4
    for name in p2p_sizes p2p_random datatypes onesided onesided_puts; do
        device_case "$name" polled 4
    done
    device_case p2p_random one-slot 4
    program_case sleeps_crowded default 4
    # Longer than the 10 s after which iWARP gives up an attempt.
    program_case late default 3 seconds=12
    [ "$all" = no ] || program_case late notified 3 seconds=12
    locked_cases
    device_rendezvous_cases
    device_closing_cases
    device_stale_cases
    death_cases default
    dying_cases default 3 2
    echo "growth/first/4|growth|4|growth|first 0:3|120"
    echo "growth/notified/4|growth|4|growth|notified 0:3|120"
    echo "summary/default/4|summary|4|demo|default|60"
    echo "summary/awake/4|summary|4|demo|awake|60"
    echo "summary/notified/4|summary|4|demo|notified|60"
    echo "summary/polled/4|summary|4|demo|polled|60"
}

hosts_cases() {
    local name setting
    for name in "${programs[@]}"; do device_case "$name" default 2; done
    for name in "${three_programs[@]}"; do device_case "$name" three 2; done
    device_case p2p_random notified 2
    device_case datatypes three-notified 2
}

# 200 MB over a wire that loses or reorders packets; the emulated one carries some megabytes a second.
wire_cases() {
    program_case stream default 2 "bytes=64K rounds=210" | sed 's/|[0-9]*$/|900/'
    program_case p2p_random three 2 "bytes=64K rounds=4" | sed 's/|[0-9]*$/|300/'
    program_case p2p_random three-notified 2 "bytes=64K rounds=4" | sed 's/|[0-9]*$/|300/'
}

# ---- cases that check the netmod itself ---------------------------------------------------------

growth_cases() {
    echo "growth/seed/16|growth|16|growth|seed 0:15|240"
    echo "growth/first/4|growth|4|growth|first 0:3|240"
    echo "growth/three/8|growth|8|growth|three 0:7|120"
    echo "growth/threshold/4|growth|4|growth|threshold 0:3|120"
    echo "growth/off/4|growth|4|growth|off none|120"
    echo "totals/default/6|totals|6|growth|default 6|120"
    echo "totals/shm/3|totals|3|growth|shm 3|120"
    echo "totals/sums/4|totals|4|growth|sums 4|120"
    echo "totals/sums/13|totals|13|growth|sums 0|240"
}

# Wrong values of knobs.
bad_knobs() { cat "$here/bad_knobs.txt"; }

# Messages that no process of the job sends: WHAT, and the error they have to end the job with.
malformed_cases() {
    local what
    while IFS= read -r what; do
        echo "malformed/${what%% *}|malformed|2|malformed|$what|60"
    done <<'END'
kind it sent a message of unknown kind
limit it sent a message whose sizes contradict each other
revoke it sent a message whose sizes contradict each other
consensus it sent a message whose sizes contradict each other
size it sent a message whose sizes contradict each other
error it sent an eager message with an unknown error
fragments-error it sent an eager message with an unknown error
fragments-size it sent an eager message that is too large
END
    while IFS= read -r what; do
        echo "malformed/onesided-${what%% *}|malformed|2|malformed_onesided|$what|60"
    done <<'END'
offset it sent a one-sided operation beyond a window
window it sent a one-sided operation beyond a window
cut it sent a one-sided operation that is cut off
get it sent a Get of more than a reply holds
number it replied to a flush request that was not sent
id it replied to a Get that was not sent
END
}

netmod_cases() {
    local knob
    growth_cases
    version_cases
    pmi_cases
    while IFS= read -r knob; do # the name of the case is without what separates names
        echo "badknobs/${knob//\//_}|badknob|2|demo|$knob|60"
    done < <(bad_knobs)
    echo "unknown-knob/last-letter/2|unknown_knob|2|demo|PHASE PHASES|60"
    echo "unknown-knob/own/3|unknown_knob|3|demo|SUMARY_FILE SUMMARY_FILE|60"
    for knob in first slots100; do echo "pvars/$knob/4|pvars|4|mpit|$knob|60"; done
    echo "pvars/threads/4|pvars|4|mpit|first threads=1|60"
    event_cases
    echo "largest/nolocal/13|largest|13|demo|default|60"
    echo "report/first/4|report|4|demo|first|60"
    echo "report/sums/6|report|6|demo|sums|60"
    echo "mpivars/1|mpivars|1|demo||60"
    echo "badknobs/empty-is-default|empty_knob|2|demo|PHASES SLOTS THRESHOLD PROVIDER|60"
    unequal_cases
    malformed_cases
    unauthorized_cases
}

all_cases() {
    "${mode}_cases"
    case $mode in quick | full) netmod_cases ;; esac
}
