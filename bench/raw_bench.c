/* SPDX-License-Identifier: MIT */
/*
 * raw_bench.c: what the provider gives with nothing above it, over one FI_EP_MSG connection between
 * two processes: half round trip of fi_send, and windows of 64 messages by fi_send or by fi_write.
 * It is the measure for mpi_bench.c and runs by the same rules (bench_common.h). fi_pingpong gives
 * the half round trip too, but has no warm-up and no windows.
 * Output: lines `bench,size,value,unit`.
 *
 * The program forks; the parent drives. Orders, and the word that the child is ready for one, go
 * through a socket pair outside the measured fabric.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_common.h"
#include "raw_fabric.h"

enum { ORDER_STOP = 0, ORDER_LATENCY = 1, ORDER_SEND = 2, ORDER_WRITE = 3 };

#define ACK_BYTES 4

typedef struct {
    long kind;
    size_t size;
    long count;
} order_t;

typedef struct {
    raw_t raw;
    int control;                /* this process's end of the socket pair */
    long kind;
} bench_t;

typedef struct {
    const char *which;
    const char *provider;
    const char *address;
    bench_sizes_t sizes;
    double budget;
    int processors[2];          /* -1: not pinned */
} settings_t;

static void control_write(int control, const void *data, size_t bytes)
{
    if (write(control, data, bytes) != (ssize_t) bytes) {
        perror("raw_bench: control channel");
        exit(1);
    }
}

/* An end of file here means the other process has failed and said why. */
static void control_read(int control, void *data, size_t bytes)
{
    if (recv(control, data, bytes, MSG_WAITALL) != (ssize_t) bytes) {
        fprintf(stderr, "raw_bench: the other process has ended\n");
        exit(1);
    }
}

static void latency_driver(raw_t * raw, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        raw_post_receive(raw, size);
        raw_send_and_wait(raw, size);
        raw_wait_receives(raw, 1);
    }
}

static void latency_follower(raw_t * raw, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        raw_wait_receives(raw, 1);
        if (i + 1 < count)
            raw_post_receive(raw, size);
        raw_send_and_wait(raw, size);
    }
}

static void window_driver(raw_t * raw, size_t size, long count, long kind)
{
    for (long i = 0; i < count; i++) {
        raw_post_receive(raw, ACK_BYTES);
        for (int slot = 0; slot < BENCH_WINDOW; slot++) {
            if (kind == ORDER_SEND)
                raw_post_send(raw, size);
            else
                raw_post_write(raw, size, slot == BENCH_WINDOW - 1);
        }
        raw_wait_sends(raw, BENCH_WINDOW);
        raw_wait_receives(raw, 1);
    }
}

static void post_window(raw_t * raw, size_t size, long kind)
{
    if (kind == ORDER_WRITE)
        raw_post_write_notice(raw);
    for (int slot = 0; slot < BENCH_WINDOW && kind == ORDER_SEND; slot++)
        raw_post_receive(raw, size);
}

/* The next window's receives are posted before the answer goes out: on a fabric that punishes a
 * message without a receive, the raw figure would otherwise be too low. */
static void window_follower(raw_t * raw, size_t size, long count, long kind)
{
    for (long i = 0; i < count; i++) {
        raw_wait_receives(raw, kind == ORDER_SEND ? BENCH_WINDOW : 1);
        if (i + 1 < count)
            post_window(raw, size, kind);
        raw_send_and_wait(raw, ACK_BYTES);
    }
}

static double driver_batch(void *context, size_t size, long count)
{
    bench_t *bench = context;
    order_t order = {.kind = bench->kind,.size = size,.count = count };
    char ready;

    bench_fill(bench->raw.buffer, size);
    control_write(bench->control, &order, sizeof(order));
    control_read(bench->control, &ready, 1);

    double start = bench_now();
    if (bench->kind == ORDER_LATENCY)
        latency_driver(&bench->raw, size, count);
    else
        window_driver(&bench->raw, size, count, bench->kind);
    double seconds = bench_now() - start;

    if (bench->kind == ORDER_LATENCY)
        bench_verify(bench->raw.buffer + bench->raw.half, size, "raw latency, parent");
    return seconds;
}

static void follow(bench_t * bench)
{
    raw_t *raw = &bench->raw;
    order_t order;

    for (;;) {
        control_read(bench->control, &order, sizeof(order));
        if (order.kind == ORDER_STOP)
            return;
        bench_fill(raw->buffer, order.size);
        if (order.kind == ORDER_LATENCY)
            raw_post_receive(raw, order.size);
        else
            post_window(raw, order.size, order.kind);
        control_write(bench->control, "", 1);
        if (order.kind == ORDER_LATENCY)
            latency_follower(raw, order.size, order.count);
        else
            window_follower(raw, order.size, order.count, order.kind);
        bench_verify(raw->buffer + raw->half, order.size, "raw, child");
    }
}

static void drive(bench_t * bench, const settings_t * settings)
{
    const bench_sizes_t *sizes = &settings->sizes;
    int latency = strcmp(settings->which, "window") != 0;
    int window = strcmp(settings->which, "latency") != 0;
    order_t stop = {.kind = ORDER_STOP };

    for (int i = 0; i < sizes->count && latency; i++) {
        bench->kind = ORDER_LATENCY;
        double round_trip = bench_measure(driver_batch, bench, sizes->bytes[i], settings->budget);
        bench_print("latency", sizes->bytes[i], 1e6 * round_trip / 2, "us");
    }
    for (int i = 0; i < 2 * sizes->count && window; i++) {
        size_t size = sizes->bytes[i / 2];
        bench->kind = i % 2 == 0 ? ORDER_SEND : ORDER_WRITE;
        double seconds = bench_measure(driver_batch, bench, size, settings->budget);
        bench_print_window(i % 2 == 0 ? "send_" : "write_", size, BENCH_WINDOW, seconds);
    }
    control_write(bench->control, &stop, sizeof(stop));
}

static void pin(int processor)
{
    cpu_set_t set;

    if (processor < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET((size_t) processor, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        perror("raw_bench: sched_setaffinity");
        exit(1);
    }
}

static void run_side(bench_t * bench, const settings_t * settings, int is_driver)
{
    raw_t *raw = &bench->raw;
    size_t largest = bench_largest(&settings->sizes);
    size_t half = largest > ACK_BYTES ? largest : ACK_BYTES;
    uint16_t port;

    pin(settings->processors[is_driver ? 0 : 1]);
    if (is_driver) {
        control_read(bench->control, &port, sizeof(port));
        raw_connect(raw, settings->provider, settings->address, port, half);
    } else {
        port = raw_listen(raw, settings->provider, settings->address);
        control_write(bench->control, &port, sizeof(port));
        raw_accept(raw, half);
    }
    control_write(bench->control, &raw->mine, sizeof(raw->mine));
    control_read(bench->control, &raw->peer, sizeof(raw->peer));
    if (is_driver)
        drive(bench, settings);
    else
        follow(bench);
    raw_close(raw);
}

static void parse(int argc, char **argv, settings_t * settings)
{
    const char *list = "pow2";
    int option, wrong = 0;

    while ((option = getopt(argc, argv, "b:s:t:p:a:c:")) != -1) {
        switch (option) {
            case 'b': settings->which = optarg; break;
            case 's': list = optarg; break;
            case 't': settings->budget = bench_parse_seconds(optarg); break;
            case 'p': settings->provider = optarg; break;
            case 'a': settings->address = optarg; break;
            case 'c':
                wrong |= sscanf(optarg, "%d,%d", &settings->processors[0],
                                &settings->processors[1]) != 2;
                break;
            default: wrong = 1;
        }
    }
    if (strcmp(settings->which, "latency") != 0 && strcmp(settings->which, "window") != 0)
        wrong |= strcmp(settings->which, "all") != 0;
    if (wrong || optind != argc) {
        fprintf(stderr, "usage: %s [-b latency|window|all] [-s SIZES] [-t SECONDS] [-p PROVIDER]\n"
                "       [-a ADDRESS] [-c PROCESSOR,PROCESSOR]\n"
                "  -s  byte counts separated by commas; pow2 = 1 B to 4 MiB (default)\n"
                "  -t  time budget of one size, seconds (default 0.2)\n"
                "  -p, -a  libfabric provider and IPv4 address (default tcp, 127.0.0.1)\n", argv[0]);
        exit(2);
    }
    bench_parse_sizes(list, &settings->sizes);
}

int main(int argc, char **argv)
{
    settings_t settings = {.which = "all",.provider = "tcp",.address = "127.0.0.1",.budget = 0.2,
        .processors = {-1, -1}
    };
    bench_t bench = { 0 };
    int pair[2], status = 0;

    parse(argc, argv, &settings);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
        perror("raw_bench: socketpair");
        return 1;
    }
    pid_t child = fork();
    if (child < 0) {
        perror("raw_bench: fork");
        return 1;
    }
    bench.control = pair[child == 0];
    close(pair[child != 0]);
    run_side(&bench, &settings, child != 0);
    if (child != 0 && (waitpid(child, &status, 0) != child || status != 0))
        return 1;
    return 0;
}
