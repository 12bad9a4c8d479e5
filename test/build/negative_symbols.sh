# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shows that layer-symbols refuses each symbol it is to refuse: a small object for each; sourced by
# negative_rules.sh.

foreign_c=(
    fi_getinfo fi_freeinfo fi_fabric_ fi_strerror fi_version
    pthread_create pthread_join pthread_self pthread_mutex_lock pthread_mutex_unlock pthread_once
    clock_gettime clock_nanosleep gettimeofday time nanosleep usleep sleep sched_yield timespec_get
    getenv secure_getenv setenv rand random getrandom
    MPI_Send PMPI_Wtime MPIR_Err_create_code MPIDI_global
    printf puts putchar fputs fputc fwrite fopen fread fflush stdout stdin perror syslog
    read write open socket poll epoll_wait ioctl mmap malloc exit
)
# Header, what is to be found, and code that refers to it.
foreign_cc=(
    'chrono|steady_clock::now|std::chrono::steady_clock::now()'
    'chrono|system_clock::now|std::chrono::system_clock::now()'
    'thread|std::thread|std::thread([] {}).detach()'
    'mutex|pthread_mutex_lock|static std::mutex lock; lock.lock()'
    'condition_variable|std::condition_variable|std::condition_variable().notify_one()'
    'iostream|std::cout|std::cout << 1'
    'iostream|std::cerr|std::cerr << "text"'
    'ostream|std::basic_ostream|extern std::ostream& out; out << 1'
    'fstream|std::basic_ifstream|std::ifstream file("name")'
    'random|std::random_device|std::random_device()()'
    'filesystem|std::filesystem|(void)std::filesystem::current_path()'
)
# The channel layer as far as a rule about symbols sees it.
channel_code='namespace bufenlarge { template <class P> struct Channel { void send(P&); };
template <class P> void Channel<P>::send(P& port) { port += 1; } template struct Channel<int>; }'
channel_pattern='^bufenlarge::Channel<.*>::[a-z_]+\('

compile_channel() { # compile_channel OBJECT CODE...
    printf '%s\n' "${@:2}" | "${CXX:-g++}" -std=c++20 -w -x c++ -c -o "$1" - 2>&1
}
symbol_offenders() { test/build/layer-symbols "$channel_pattern" "$@" 2>&1; }
expect_refusal() { # expect_refusal TEXT NAME OBJECT...: an offender's line must have the name
    local said
    said=$(symbol_offenders "${@:3}")
    report "refused: $1" "$(grep -qF -- "$2" <<<"$said" || echo "not refused; layer-symbols printed: $said")"
}

object=$work/channel.o
report "a channel layer that refers to nothing passes" "$(
    compile_channel "$object" "$channel_code" 'void f(int& i) { bufenlarge::Channel<int>().send(i); }'
    symbol_offenders "$object")"
for name in "${foreign_c[@]}"; do
    compile_channel "$object" "$channel_code" "extern \"C\" char $name[]; char* use() { return $name; }"
    expect_refusal "the symbol $name" "refers to $name" "$object"
done
for line in "${foreign_cc[@]}"; do
    IFS='|' read -r header name code <<<"$line"
    compile_channel "$object" "#include <$header>" "$channel_code" "void use() { $code; }"
    expect_refusal "$code" "$name" "$object"
done
rm -f "$work"/nothing.*
expect_refusal "an object that is not there" "there is no object" "$work/nothing.o"
: >"$work/nothing.o"
expect_refusal "an empty file" "there is no object" "$work/nothing.o"
ar rc "$work/nothing.a"
expect_refusal "an archive without members" "defines nothing of" "$work/nothing.a"
compile_channel "$work/nothing.o" 'void other() {}'
expect_refusal "an object without the channel layer" "defines nothing of" "$work/nothing.o"
compile_channel "$object" "$channel_code"
expect_refusal "a good object and one without the channel layer" "nothing.o defines nothing of" \
    "$object" "$work/nothing.o"
