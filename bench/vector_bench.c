/* SPDX-License-Identifier: MIT */
/*
 * vector_bench.c: half round trips of noncontiguous messages between two MPI ranks: as many blocks of one size as make
 * the message, with gaps of `-g` bytes (one block by default) between them, received as they are sent. It prints, for
 * every size of the message and of the block, the median of single round trips, in batches that fill the budget.
 * Output: lines `vector BLOCK,size,value,us`.
 *
 * docs/decisions/0018-segments.md says when the netmod advertises the blocks and when it packs them.
 */
#include <mpi.h>
#include <unistd.h>

#include "bench_common.h"

enum { TAG_ORDER = 1, TAG_DATA = 2, SAMPLES_MAX = 10000 };

static unsigned char *out, *in;
static double samples[SAMPLES_MAX];

static void send_to(int peer, MPI_Datatype type)
{
    MPI_Send(out, 1, type, peer, TAG_DATA, MPI_COMM_WORLD);
}

static void receive_from(int peer, MPI_Datatype type)
{
    MPI_Recv(in, 1, type, peer, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *) left, b = *(const double *) right;
    return (a > b) - (a < b);
}

/* Every block as it was sent. */
static void verify(size_t size, size_t block, size_t stride)
{
    for (size_t i = 0; i < size; i++) {
        const size_t at = i / block * stride + i % block;
        if (in[at] != bench_pattern(at, size)) {
            fprintf(stderr, "%zu bytes in blocks of %zu: byte %zu is wrong\n", size, block, i);
            exit(1);
        }
    }
    memset(in, 0, (size / block - 1) * stride + block);
}

/* `count` round trips, timed on rank 0. */
static void run(int rank, MPI_Datatype type, int count)
{
    for (int i = 0; i < count; i++) {
        const double since = bench_now();
        if (rank == 0)
            send_to(1, type);
        receive_from(1 - rank, type);
        if (rank == 1)
            send_to(0, type);
        samples[i] = bench_now() - since;
    }
}

static void measure(int rank, size_t size, size_t block, size_t gap, double budget)
{
    const size_t stride = block + gap;
    MPI_Datatype type;
    int count = 4;

    MPI_Type_create_hvector((int) (size / block), (int) block, (MPI_Aint) stride, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (size_t i = 0; i < size; i++)
        out[i / block * stride + i % block] = bench_pattern(i / block * stride + i % block, size);
    run(rank, type, count); /* rings grow, and the types' own tables are made */
    qsort(samples, (size_t) count, sizeof(double), compare);
    count = (int) (budget / samples[0]);
    count = count < 8 ? 8 : count > SAMPLES_MAX ? SAMPLES_MAX : count;
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    run(rank, type, count);
    verify(size, block, stride);
    if (rank == 0) {
        char name[32];
        qsort(samples, (size_t) count, sizeof(double), compare);
        snprintf(name, sizeof(name), "vector %zu", block);
        bench_print(name, size, 1e6 * samples[count / 2] / 2, "us");
    }
    MPI_Type_free(&type);
}

static void usage(const char *program)
{
    fprintf(stderr, "usage: mpiexec -n 2 %s [-s SIZES] [-b BLOCKS] [-g GAP] [-t SECONDS]\n"
            "  -s  bytes of a message, with commas (default 262144,1048576,4194304)\n"
            "  -b  bytes of a block, with commas (default 64,256,1024,4096,16384,65536)\n"
            "  -g  bytes between blocks (default: as a block)\n"
            "  -t  time of one figure, seconds (default 0.2)\n", program);
    exit(2);
}

int main(int argc, char **argv)
{
    const char *size_list = "262144,1048576,4194304", *block_list = "64,256,1024,4096,16384,65536";
    double budget = 0.2;
    long gap = -1;
    bench_sizes_t sizes, blocks;
    int option, rank, ranks;

    MPI_Init(&argc, &argv);
    while ((option = getopt(argc, argv, "s:b:g:t:")) != -1) {
        switch (option) {
            case 's': size_list = optarg; break;
            case 'b': block_list = optarg; break;
            case 'g': gap = strtol(optarg, NULL, 10); break;
            case 't': budget = bench_parse_seconds(optarg); break;
            default: usage(argv[0]);
        }
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2 || optind != argc)
        usage(argv[0]);
    bench_parse_sizes(size_list, &sizes);
    bench_parse_sizes(block_list, &blocks);
    for (int i = 0; i < sizes.count; i++) {
        for (int j = 0; j < blocks.count; j++) {
            const size_t block = blocks.bytes[j], size = sizes.bytes[i] / block * block;
            const size_t between = gap < 0 ? block : (size_t) gap;
            if (size == 0)
                continue;
            out = bench_buffer(size / block * (block + between));
            in = bench_buffer(size / block * (block + between));
            measure(rank, size, block, between, budget);
            free(out);
            free(in);
        }
    }
    MPI_Finalize();
    return 0;
}
