/* SPDX-License-Identifier: MIT */
/*
 * revoked_accept.c: all ranks but the last wait in MPI_Comm_accept for a process that never connects, and the last one
 * revokes the communicator. The call ends with MPIX_ERR_REVOKED in rank 0, its root, and in the others with that or,
 * when they hear of it from rank 0, with MPI_ERR_PORT. Then all make a communicator that is right.
 */
#include <unistd.h>

#include "support.h"

enum { REVOKE_AFTER_US = 300000, LIMIT = 10 };

static void wait_for_a_caller(MPI_Comm comm)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm caller;
    int class = MPI_SUCCESS;
    if (test_rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    alarm(LIMIT);
    const int error = MPI_Comm_accept(port, MPI_INFO_NULL, 0, comm, &caller);
    MPI_Error_class(error, &class);
    if (test_rank == 0 || class != MPI_ERR_PORT)
        test_expect_class("MPI_Comm_accept", MPIX_ERR_REVOKED, error);
    if (test_rank == 0)
        MPI_Close_port(port);
}

int main(int argc, char **argv)
{
    MPI_Comm comm, rest;
    int one = 1, sum = 0;
    test_begin(argc, argv, (test_options_t) { 0 });
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == test_size - 1) {
        usleep(REVOKE_AFTER_US);
        MPIX_Comm_revoke(comm);
    } else {
        wait_for_a_caller(comm);
    }
    test_expect_class("MPIX_Comm_shrink", MPI_SUCCESS, MPIX_Comm_shrink(comm, &rest));
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, rest);
    EXPECT_EQUAL("ranks that are left", test_size, sum);
    MPI_Comm_free(&rest);
    MPI_Comm_free(&comm);
    return test_end();
}
