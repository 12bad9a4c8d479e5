/* SPDX-License-Identifier: MIT */
/*
 * mpi_bench.c: latency, bandwidth and message rate between two MPI ranks, in plain MPI, with the
 * loops of the OSU micro-benchmarks: latency is half a round trip of blocking messages; bandwidth
 * and message rate are windows of 64 nonblocking messages, each window answered by 4 bytes.
 * Output: lines `bench,size,value,unit`.
 *
 * Rank 0 drives. Before each batch it sends an order (what, size, how often) and waits for the
 * answer, so that rank 1 needs no plan of its own and no batch starts before both are there.
 */
#include <mpi.h>
#include <unistd.h>

#include "bench_common.h"

enum { TAG_ORDER = 1, TAG_DATA = 2, TAG_ACK = 3 };
enum { ORDER_STOP = 0, ORDER_LATENCY = 1, ORDER_WINDOW = 2 };

#define ACK_BYTES 4

typedef struct {
    unsigned char *send_buffer;
    unsigned char *receive_buffer;
    MPI_Request requests[BENCH_WINDOW];
    long kind;
} bench_t;

static void send_data(bench_t * bench, size_t size, int peer)
{
    MPI_Send(bench->send_buffer, (int) size, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD);
}

static void receive_data(bench_t * bench, size_t size, int peer)
{
    MPI_Recv(bench->receive_buffer, (int) size, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void latency_driver(bench_t * bench, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        send_data(bench, size, 1);
        receive_data(bench, size, 1);
    }
}

static void latency_follower(bench_t * bench, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        receive_data(bench, size, 0);
        send_data(bench, size, 0);
    }
}

static void window_driver(bench_t * bench, size_t size, long count)
{
    char ack[ACK_BYTES];

    for (long i = 0; i < count; i++) {
        for (int slot = 0; slot < BENCH_WINDOW; slot++)
            MPI_Isend(bench->send_buffer, (int) size, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD,
                      &bench->requests[slot]);
        MPI_Waitall(BENCH_WINDOW, bench->requests, MPI_STATUSES_IGNORE);
        MPI_Recv(ack, ACK_BYTES, MPI_BYTE, 1, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void window_follower(bench_t * bench, size_t size, long count)
{
    char ack[ACK_BYTES] = { 0 };

    for (long i = 0; i < count; i++) {
        for (int slot = 0; slot < BENCH_WINDOW; slot++)
            MPI_Irecv(bench->receive_buffer, (int) size, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD,
                      &bench->requests[slot]);
        MPI_Waitall(BENCH_WINDOW, bench->requests, MPI_STATUSES_IGNORE);
        MPI_Send(ack, ACK_BYTES, MPI_BYTE, 0, TAG_ACK, MPI_COMM_WORLD);
    }
}

static double driver_batch(void *context, size_t size, long count)
{
    bench_t *bench = context;
    long order[3] = { bench->kind, (long) size, count };

    bench_fill(bench->send_buffer, size);
    MPI_Send(order, 3, MPI_LONG, 1, TAG_ORDER, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG_ORDER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    double start = bench_now();
    if (bench->kind == ORDER_LATENCY)
        latency_driver(bench, size, count);
    else
        window_driver(bench, size, count);
    double seconds = bench_now() - start;

    if (bench->kind == ORDER_LATENCY)
        bench_verify(bench->receive_buffer, size, "latency, rank 0");
    return seconds;
}

static void follow(bench_t * bench)
{
    long order[3];

    for (;;) {
        MPI_Recv(order, 3, MPI_LONG, 0, TAG_ORDER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (order[0] == ORDER_STOP)
            return;
        bench_fill(bench->send_buffer, (size_t) order[1]);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_ORDER, MPI_COMM_WORLD);
        if (order[0] == ORDER_LATENCY)
            latency_follower(bench, (size_t) order[1], order[2]);
        else
            window_follower(bench, (size_t) order[1], order[2]);
        bench_verify(bench->receive_buffer, (size_t) order[1], "rank 1");
    }
}

static void drive(bench_t * bench, const bench_sizes_t * sizes, double budget, int latency,
                  int window)
{
    long stop[3] = { ORDER_STOP, 0, 0 };

    for (int i = 0; i < sizes->count && latency; i++) {
        bench->kind = ORDER_LATENCY;
        double round_trip = bench_measure(driver_batch, bench, sizes->bytes[i], budget);
        bench_print("latency", sizes->bytes[i], 1e6 * round_trip / 2, "us");
    }
    for (int i = 0; i < sizes->count && window; i++) {
        bench->kind = ORDER_WINDOW;
        bench_print_window("", sizes->bytes[i],
                           bench_measure(driver_batch, bench, sizes->bytes[i], budget));
    }
    MPI_Send(stop, 3, MPI_LONG, 1, TAG_ORDER, MPI_COMM_WORLD);
}

static void usage(const char *program)
{
    fprintf(stderr, "usage: mpiexec -n 2 %s [-b latency|window|all] [-s SIZES] [-t SECONDS]\n"
            "  -s  byte counts separated by commas; pow2 = 1 B to 4 MiB (default)\n"
            "  -t  time budget of one size, seconds (default 0.2)\n", program);
    exit(2);
}

int main(int argc, char **argv)
{
    const char *which = "all", *list = "pow2";
    double budget = 0.2;
    bench_sizes_t sizes;
    int option, rank, ranks;

    MPI_Init(&argc, &argv);
    while ((option = getopt(argc, argv, "b:s:t:")) != -1) {
        switch (option) {
            case 'b': which = optarg; break;
            case 's': list = optarg; break;
            case 't': budget = bench_parse_seconds(optarg); break;
            default: usage(argv[0]);
        }
    }
    int all = strcmp(which, "all") == 0;
    int latency = all || strcmp(which, "latency") == 0;
    int window = all || strcmp(which, "window") == 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2 || optind != argc || !(latency || window))
        usage(argv[0]);
    bench_parse_sizes(list, &sizes);

    bench_t bench = {.send_buffer = bench_buffer(bench_largest(&sizes)),
        .receive_buffer = bench_buffer(bench_largest(&sizes))
    };
    if (rank == 0)
        drive(&bench, &sizes, budget, latency, window);
    else
        follow(&bench);
    MPI_Finalize();
    return 0;
}
