/* SPDX-License-Identifier: MIT */
/*
 * guests.c: one process is connected to by rounds= jobs, one after the other. Each of them connects threads= times,
 * talks and disconnects, then it ends. Checked: every word, and that memory and descriptors of the process do not grow
 * once a quarter of the jobs have left.
 */
#include <dirent.h>
#include <malloc.h>

#include "support.h"

enum { TAG = 5, LEAVE_MILLISECONDS = 100 };
/* What a process may keep of a few jobs that have just left. */
static const size_t slack_bytes = 8192;
/* MPICH keeps a table of the processes of each job that it has met since 5.0, which is the first of MPI 5. The
 * header of its standard ABI has no MPICH_NUMVERSION. */
static const size_t job_bytes = MPI_VERSION >= 5 ? 3072 : 0;

static size_t used_bytes(void)
{
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL)
        FAIL("/proc/self/fd cannot be read");
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* The first message is there before its receive is posted: MPICH allocates its buffers for unexpected messages, 16 at
 * once, in the first job and not in whichever job is late. */
static void talk(MPI_Comm other, long number)
{
    long word = -1;
    MPI_Request sent;
    MPI_Isend(&number, 1, MPI_LONG, 0, TAG, other, &sent);
    if (number == 0)
        MPI_Probe(0, TAG, other, MPI_STATUS_IGNORE);
    MPI_Recv(&word, 1, MPI_LONG, 0, TAG, other, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    EXPECT_EQUAL("word of the other job", number, word);
}

static void visit(MPI_Comm parent)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, parent);
    MPI_Comm_disconnect(&parent);
    for (int i = 0; i < test_options.threads; i++) {
        MPI_Comm host;
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &host);
        talk(host, i);
        MPI_Comm_disconnect(&host);
    }
}

/* Makes progress while the guest leaves. */
static void see_off(void)
{
    const double end = MPI_Wtime() + LEAVE_MILLISECONDS / 1000.0;
    int flag = 0;
    while (MPI_Wtime() < end)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void receive_guest(char *program, char **arguments, char *port)
{
    MPI_Comm guest;
    MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &guest, MPI_ERRCODES_IGNORE);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, MPI_ROOT, guest);
    MPI_Comm_disconnect(&guest);
    for (int i = 0; i < test_options.threads; i++) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &guest);
        talk(guest, i);
        MPI_Comm_disconnect(&guest);
    }
    see_off();
}

static void serve(char **argv)
{
    char port[MPI_MAX_PORT_NAME];
    size_t bytes = 0;
    int descriptors = 0;
    MPI_Open_port(MPI_INFO_NULL, port);
    for (long job = 0; job < test_options.rounds; job++) {
        receive_guest(argv[0], argv + 1, port);
        if (job == test_options.rounds / 4) {
            bytes = used_bytes();
            descriptors = open_descriptors();
        }
    }
    const size_t later_jobs = (size_t) (test_options.rounds - 1 - test_options.rounds / 4);
    if (used_bytes() > bytes + slack_bytes + later_jobs * job_bytes)
        FAIL("after %ld jobs the process uses %zu bytes, after a quarter of them %zu", test_options.rounds,
             used_bytes(), bytes);
    EXPECT_EQUAL("open descriptors", descriptors, open_descriptors());
    MPI_Close_port(port);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    test_begin(argc, argv, (test_options_t) {.rounds = 12,.threads = 8 });
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        visit(parent);
        MPI_Finalize();
        return 0;
    }
    serve(argv);
    return test_end();
}
