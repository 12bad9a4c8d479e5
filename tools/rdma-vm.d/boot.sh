# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Starts guests, follows them and ends them; sourced by rdma-vm after prepare.sh. The emulators are
# children of this shell; `guests` has their process numbers.

guests=()
reader=
kernel_words="console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off tsc=reliable no_timer_check"
kernel_words+=" random.trust_cpu=on audit=0 nokaslr cryptomgr.notests"

# Doubles the commas of a value, as QEMU's options need it.
quoted() { printf '%s' "${1//,/,,}"; }

share() {
    printf '%s\n' -virtfs "local,path=$(quoted "$2"),mount_tag=$1,security_model=none,multidevs=remap${3-}"
}

# acceleration_options kvm|tcg
acceleration_options() {
    case $1 in
        kvm) printf '%s\n' -accel kvm -cpu host ;;
        tcg) printf '%s\n' -accel tcg,thread=multi -cpu max ;;
    esac
}

# The wire between two guests is a pair of datagram sockets in the folder of the run. Their names are relative to
# it, because the name of a socket has at most 107 bytes. (With a stream socket QEMU 7.2 stopped sending for good
# after some megabytes; the guest reported "NETDEV WATCHDOG".)
wire_options() {
    [ "$hosts" -eq 2 ] || return 0
    local sockets="local.type=unix,local.path=wire$1,remote.type=unix,remote.path=wire$((3 - $1))"
    printf '%s\n' -netdev "dgram,id=wire,$sockets" \
        -device "virtio-net-pci,netdev=wire,mac=52:54:00:77:00:0$1,host_mtu=9000,romfile="
}

# start_guest HOST ACCELERATION
start_guest() {
    local options output="file,id=output,path=output$1" terminal=/dev/null
    if [ "$shell" = yes ] && [ "$1" -eq 1 ]; then output="stdio,id=output,signal=off" terminal=/dev/tty; fi
    mapfile -t options < <(
        acceleration_options "$2"
        share host / ,readonly=on
        share run "$run"
        [ -z "$out" ] || share out "$out"
        wire_options "$1"
    )
    # The emulator must not outlive this shell, whatever ends it.
    setpriv --pdeathsig KILL env -C "$run" qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
        -name "guest,debug-threads=on" -smp "$cpus" -m "$memory" "${options[@]}" \
        -kernel "$image/vmlinux" -initrd "$image/initramfs-$fabric" \
        -append "$kernel_words rdma_vm.host=$1" \
        -serial "file:console$1" -device virtio-serial-pci \
        -chardev "$output" -device virtserialport,chardev=output,name=output,nr=1 \
        -chardev "file,id=report,path=report" -device virtserialport,chardev=report,name=report,nr=2 \
        >"$terminal" 2>"$run/qemu$1.log" <"$terminal" {report}>&- &
    guests[$1]=$!
    # Otherwise the shell prints a line when the emulator is killed.
    disown "$!"
}

stop_guests() {
    local pid
    for pid in "${guests[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in "${guests[@]}"; do
        for _ in {1..50}; do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$pid" 2>/dev/null || true
    done
    guests=()
}

# Prints the last lines of the guests and their emulators, for an error message.
show_tail() {
    local name
    for name in "$run"/qemu[12].log "$run"/console[12]; do
        [ -s "$name" ] || continue
        grep -a -m 3 -E 'Kernel panic|BUG:|Oops|Out of memory' "$name" | tr -d '\r' |
            sed "s|^|    ${name##*/}: |" >&2 || true
        tail -n 12 "$name" | tr -d '\r' | cut -c 1-200 | sed "s|^|    ${name##*/}: |" >&2
    done
}

# Whether a guest's kernel says that the emulated wire takes no packets. QEMU's network stays so until it ends.
wire_stopped() {
    [ "$hosts" -eq 2 ] && grep -qa 'NETDEV WATCHDOG' "$run"/console[12] 2>/dev/null
}

# next_report SECONDS: puts the next line of a guest into `answer`, or an empty one when a guest has ended. Returns
# false when the time is over.
next_report() {
    local until=$((EPOCHSECONDS + $1)) pid
    while [ "$EPOCHSECONDS" -le "$until" ]; do
        # It waits in short rounds, because a guest that has ended reports nothing.
        if IFS= read -r -t 1 -u "$report" answer; then return 0; fi
        if wire_stopped; then answer=wire && return 0; fi
        for pid in "${guests[@]}"; do
            kill -0 "$pid" 2>/dev/null && continue
            IFS= read -r -t 0.1 -u "$report" answer || answer=
            return 0
        done
    done
    return 1
}

# Two guests with polling processes may need more processors than the host has. Then the threads that emulate
# processors get a lower priority than the thread that moves packets, or each packet would wait for a time slice.
favour_devices() {
    local pid thread
    for pid in "${guests[@]}"; do
        for thread in /proc/"$pid"/task/*; do
            case $(cat "$thread/comm" 2>/dev/null) in
                CPU*) renice -n 10 -p "${thread##*/}" >/dev/null 2>&1 || true ;;
            esac
        done
    done
}

# boot ACCELERATION SECONDS: starts the guests. Returns 0 when all are ready; otherwise `last_error` says why not.
boot() {
    local number missing=$hosts until=$((EPOCHSECONDS + $2)) started=${EPOCHREALTIME/[.,]/}
    for ((number = 1; number <= hosts; number++)); do start_guest "$number" "$1"; done
    while [ "$missing" -gt 0 ]; do
        if ! next_report $((until - EPOCHSECONDS)); then
            last_error="the guest did not come up within $2 seconds"
            return 1
        fi
        case $answer in
            *' ready') missing=$((missing - 1)) ;;
            *' failed '*) last_error="guest ${answer/ failed/ did not come up:}" && return 1 ;;
            '') last_error="a guest ended while it came up" && return 1 ;;
        esac
    done
    [ "$hosts" -eq 1 ] || favour_devices
    boot_time=$(((${EPOCHREALTIME/[.,]/} - started) / 100000))
    boot_time=$((boot_time / 10)).$((boot_time % 10))
}

# Waits until the command has ended and puts its exit status into `status`. Returns false when the time is over or a
# guest has ended.
follow() {
    local until=$((EPOCHSECONDS + limit))
    while next_report $((until - EPOCHSECONDS)); do
        case $answer in
            '1 exit '*) status=${answer#1 exit } && return 0 ;;
            wire | '1 wire') status=123 last_error="the emulated wire between the guests stopped" && return 1 ;;
            '') last_error="a guest ended before the command" && return 1 ;;
            *) last_error="guest $answer" && return 1 ;;
        esac
    done
    status=124
    return 1
}

# Sets `acceleration`. A machine may have /dev/kvm and still hang a guest that uses it. So the guests use it only if a
# short boot with it has worked since this machine was started.
choose_acceleration() {
    local boot_id seen
    acceleration=$1
    [ "$acceleration" = auto ] || return 0
    acceleration=tcg
    [ -r /dev/kvm ] && [ -w /dev/kvm ] || return 0
    boot_id=$(cat /proc/sys/kernel/random/boot_id)
    seen=$(cat "$image/kvm" 2>/dev/null) || seen=
    if [ "${seen% *}" != "$boot_id" ]; then
        seen="$boot_id $(try_kvm)"
        printf '%s\n' "$seen" >"$image/kvm.$$"
        mv "$image/kvm.$$" "$image/kvm"
    fi
    [ "${seen#* }" != yes ] || acceleration=kvm
}

# Prints yes or no.
try_kvm() (
    hosts=1 out='' netem='' shell=no answer=no
    note "guest: trying hardware acceleration, for 25 seconds at most"
    trap 'stop_guests; rm -rf "$run"' EXIT
    new_run true >&2
    if boot kvm 25; then echo yes; else echo no; fi
)
