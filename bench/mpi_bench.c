/* SPDX-License-Identifier: MIT */
/*
 * mpi_bench.c: latency, bandwidth and message rate between two MPI ranks, in plain MPI, with the
 * loops of the OSU micro-benchmarks: latency is half a round trip of blocking messages; bandwidth
 * and message rate are windows of 64 nonblocking messages, each window answered by 4 bytes. One-sided:
 * put_latency and get_latency are one operation and its flush, put_bandwidth and get_bandwidth windows
 * of 64 and one flush, all under a shared lock while the target waits in MPI.
 * Output: lines `bench,size,value,unit`.
 *
 * With -e each round trip and each window is timed too, and their median is printed as
 * `latency_typical` and `bandwidth_typical`: where the system takes a processor away for longer than
 * a whole batch should last, the mean only says how often it did.
 *
 * Rank 0 drives. Before each batch it sends an order (what, size, how often) and waits for the
 * answer, so that rank 1 needs no plan of its own and no batch starts before both are there.
 */
#include <mpi.h>
#include <unistd.h>

#include "bench_common.h"

enum { TAG_ORDER = 1, TAG_DATA = 2, TAG_ACK = 3 };
enum { ORDER_STOP = 0, ORDER_LATENCY = 1, ORDER_WINDOW = 2, ORDER_PUT = 3, ORDER_GET = 4 };

#define ACK_BYTES 4
#define SAMPLES_MAX 65536

typedef struct {
    unsigned char *send_buffer;
    unsigned char *receive_buffer;
    MPI_Request requests[BENCH_WINDOW];
    MPI_Win memory;             /* receive_buffer of both ranks */
    long kind;
    int window;                 /* messages in flight */
    double *samples;            /* seconds of each of the last batch; NULL: not wanted */
    long sampled;
} bench_t;

/* Ends one sample and begins the next. */
static void sample(bench_t * bench, double *since)
{
    if (bench->samples == NULL || bench->sampled == SAMPLES_MAX)
        return;
    double now = bench_now();
    bench->samples[bench->sampled++] = now - *since;
    *since = now;
}

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
    double since = bench_now();

    for (long i = 0; i < count; i++) {
        send_data(bench, size, 1);
        receive_data(bench, size, 1);
        sample(bench, &since);
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
    double since = bench_now();

    for (long i = 0; i < count; i++) {
        for (int slot = 0; slot < bench->window; slot++)
            MPI_Isend(bench->send_buffer, (int) size, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD,
                      &bench->requests[slot]);
        MPI_Waitall(bench->window, bench->requests, MPI_STATUSES_IGNORE);
        MPI_Recv(ack, ACK_BYTES, MPI_BYTE, 1, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sample(bench, &since);
    }
}

static void window_follower(bench_t * bench, size_t size, long count)
{
    char ack[ACK_BYTES] = { 0 };

    for (long i = 0; i < count; i++) {
        for (int slot = 0; slot < bench->window; slot++)
            MPI_Irecv(bench->receive_buffer, (int) size, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD,
                      &bench->requests[slot]);
        MPI_Waitall(bench->window, bench->requests, MPI_STATUSES_IGNORE);
        MPI_Send(ack, ACK_BYTES, MPI_BYTE, 0, TAG_ACK, MPI_COMM_WORLD);
    }
}

/* Operations of one-sided communication, `window` to a flush. */
static void onesided_driver(bench_t * bench, size_t size, long count)
{
    double since = bench_now();

    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, bench->memory);
    for (long i = 0; i < count; i++) {
        for (int slot = 0; slot < bench->window; slot++) {
            if (bench->kind == ORDER_PUT)
                MPI_Put(bench->send_buffer, (int) size, MPI_BYTE, 1, 0, (int) size, MPI_BYTE, bench->memory);
            else
                MPI_Get(bench->send_buffer, (int) size, MPI_BYTE, 1, 0, (int) size, MPI_BYTE, bench->memory);
        }
        MPI_Win_flush(1, bench->memory);
        sample(bench, &since);
    }
    MPI_Win_unlock(1, bench->memory);
    MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_ACK, MPI_COMM_WORLD);
}

static double driver_batch(void *context, size_t size, long count)
{
    bench_t *bench = context;
    long order[4] = { bench->kind, (long) size, count, bench->window };

    bench->sampled = 0;
    bench_fill(bench->send_buffer, size);
    MPI_Send(order, 4, MPI_LONG, 1, TAG_ORDER, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG_ORDER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    double start = bench_now();
    if (bench->kind == ORDER_LATENCY)
        latency_driver(bench, size, count);
    else if (bench->kind == ORDER_WINDOW)
        window_driver(bench, size, count);
    else
        onesided_driver(bench, size, count);
    double seconds = bench_now() - start;

    if (bench->kind == ORDER_LATENCY)
        bench_verify(bench->receive_buffer, size, "latency, rank 0");
    if (bench->kind == ORDER_GET)
        bench_verify(bench->send_buffer, size, "get, rank 0");
    return seconds;
}

static void follow(bench_t * bench)
{
    long order[4];

    for (;;) {
        MPI_Recv(order, 4, MPI_LONG, 0, TAG_ORDER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (order[0] == ORDER_STOP)
            return;
        bench->window = (int) order[3];
        bench_fill(bench->send_buffer, (size_t) order[1]);
        if (order[0] == ORDER_GET)
            bench_fill(bench->receive_buffer, (size_t) order[1]);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_ORDER, MPI_COMM_WORLD);
        if (order[0] == ORDER_LATENCY)
            latency_follower(bench, (size_t) order[1], order[2]);
        else if (order[0] != ORDER_WINDOW)
            MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            window_follower(bench, (size_t) order[1], order[2]);
        bench_verify(bench->receive_buffer, (size_t) order[1], "rank 1");
    }
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *) left, b = *(const double *) right;
    return (a > b) - (a < b);
}

static double median_sample(bench_t * bench)
{
    qsort(bench->samples, (size_t) bench->sampled, sizeof(double), compare_doubles);
    return (bench->samples[(bench->sampled - 1) / 2] + bench->samples[bench->sampled / 2]) / 2;
}

/* As many messages as `most` bytes hold, at least four; 0 is no limit. */
static int window_for(size_t size, size_t most)
{
    size_t messages = most / size;

    if (most == 0 || messages > BENCH_WINDOW)
        return BENCH_WINDOW;
    return messages < 4 ? 4 : (int) messages;
}

static void drive_onesided(bench_t * bench, const bench_sizes_t * sizes, double budget,
                           size_t window_bytes)
{
    for (int i = 0; i < 2 * sizes->count; i++) {
        const size_t size = sizes->bytes[i / 2];
        bench->kind = i % 2 == 0 ? ORDER_PUT : ORDER_GET;
        const char *names[2][2] = { {"put_latency", "put_bandwidth"}, {"get_latency", "get_bandwidth"} };
        bench->window = 1;
        bench_print(names[i % 2][0], size, 1e6 * bench_measure(driver_batch, bench, size, budget), "us");
        bench->window = window_for(size, window_bytes);
        double seconds = bench_measure(driver_batch, bench, size, budget);
        bench_print(names[i % 2][1], size, 1e-6 * bench->window * (double) size / seconds, "MB/s");
    }
}

static void drive(bench_t * bench, const bench_sizes_t * sizes, double budget, int latency,
                  int window, size_t window_bytes)
{
    long stop[4] = { ORDER_STOP, 0, 0, 0 };

    for (int i = 0; i < sizes->count && latency; i++) {
        bench->kind = ORDER_LATENCY;
        double round_trip = bench_measure(driver_batch, bench, sizes->bytes[i], budget);
        bench_print("latency", sizes->bytes[i], 1e6 * round_trip / 2, "us");
        if (bench->samples != NULL)
            bench_print("latency_typical", sizes->bytes[i], 1e6 * median_sample(bench) / 2, "us");
    }
    for (int i = 0; i < sizes->count && window; i++) {
        bench->kind = ORDER_WINDOW;
        bench->window = window_for(sizes->bytes[i], window_bytes);
        double seconds = bench_measure(driver_batch, bench, sizes->bytes[i], budget);
        bench_print_window("", sizes->bytes[i], bench->window, seconds);
        if (bench->samples != NULL)
            bench_print("bandwidth_typical", sizes->bytes[i],
                        1e-6 * bench->window * (double) sizes->bytes[i] / median_sample(bench), "MB/s");
    }
    MPI_Send(stop, 4, MPI_LONG, 1, TAG_ORDER, MPI_COMM_WORLD);
}

static void usage(const char *program)
{
    fprintf(stderr, "usage: mpiexec -n 2 %s [-b latency|window|onesided|all] [-s SIZES]\n"
            "       [-t SECONDS] [-m BYTES] [-e]\n"
            "  -b  all is latency and window (default)\n"
            "  -s  byte counts separated by commas; pow2 = 1 B to 4 MiB (default)\n"
            "  -t  time budget of one size, seconds (default 0.2)\n"
            "  -m  at most so many bytes in a window, though 4 messages (default: always 64)\n"
            "  -e  time each round trip and window too, and print their medians\n", program);
    exit(2);
}

typedef struct {
    int latency, window, onesided;      /* what is measured */
    bench_sizes_t sizes;
    double budget;              /* seconds for one size */
    size_t window_bytes;        /* most bytes of a window; 0: no limit */
    int each;                   /* time each round trip and window too */
} options_t;

/* Returns 0 where the command line is wrong. */
static int parse_options(int argc, char **argv, options_t * options)
{
    const char *which = "all", *list = "pow2";
    int option;

    *options = (options_t) {.budget = 0.2 };
    while ((option = getopt(argc, argv, "b:s:t:m:e")) != -1) {
        switch (option) {
            case 'b': which = optarg; break;
            case 's': list = optarg; break;
            case 't': options->budget = bench_parse_seconds(optarg); break;
            case 'm': options->window_bytes = (size_t) strtoul(optarg, NULL, 10); break;
            case 'e': options->each = 1; break;
            default: return 0;
        }
    }
    int all = strcmp(which, "all") == 0;
    options->latency = all || strcmp(which, "latency") == 0;
    options->window = all || strcmp(which, "window") == 0;
    options->onesided = strcmp(which, "onesided") == 0;
    if (optind != argc || !(options->latency || options->window || options->onesided))
        return 0;
    bench_parse_sizes(list, &options->sizes);
    return 1;
}

/* Runs the part of this rank: rank 0 drives, rank 1 follows. */
static void run(bench_t * bench, const options_t * options, int rank)
{
    if (options->onesided)
        MPI_Win_create(bench->receive_buffer, (MPI_Aint) bench_largest(&options->sizes), 1, MPI_INFO_NULL,
                       MPI_COMM_WORLD, &bench->memory);
    if (rank == 0 && options->onesided)
        drive_onesided(bench, &options->sizes, options->budget, options->window_bytes);
    if (rank == 0)
        drive(bench, &options->sizes, options->budget, options->latency, options->window, options->window_bytes);
    else
        follow(bench);
    if (options->onesided)
        MPI_Win_free(&bench->memory);
}

int main(int argc, char **argv)
{
    options_t options;
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!parse_options(argc, argv, &options) || ranks != 2)
        usage(argv[0]);

    bench_t bench = {.send_buffer = bench_buffer(bench_largest(&options.sizes)),
        .receive_buffer = bench_buffer(bench_largest(&options.sizes)),
        .samples = options.each ? bench_buffer(SAMPLES_MAX * sizeof(double)) : NULL
    };
    run(&bench, &options, rank);
    MPI_Finalize();
    return 0;
}
