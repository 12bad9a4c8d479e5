/* SPDX-License-Identifier: MIT */
/* bufenlarge_errors.c: the library's errors as MPI's. */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"

/* A line of MPICH's error stack ends, unmarked, after 256 bytes, location included. */
#define LINE_BYTES 200

/* Kept until MPI_COMM_WORLD exists. */
static char start_error[BUFENLARGE_MESSAGE_BYTES];

static int error_class(bufenlarge_status_t status)
{
    switch (status) {
        case BUFENLARGE_OK:
            break;
        case BUFENLARGE_ERR_OPTION:
            return MPI_ERR_ARG;
        case BUFENLARGE_ERR_FABRIC:
            return MPI_ERR_OTHER;
        case BUFENLARGE_ERR_MEMORY:
            return MPI_ERR_NO_MEM;
        case BUFENLARGE_ERR_PEER:
        case BUFENLARGE_ERR_TIMEOUT:   /* to MPI, a process that cannot be reached has failed */
            return MPIX_ERR_PROC_FAILED;
        case BUFENLARGE_ERR_PROTOCOL:
            return MPI_ERR_OTHER;
        case BUFENLARGE_ERR_ARGUMENT:  /* our own mistake */
            return MPI_ERR_INTERN;
    }
    return MPI_ERR_INTERN;
}

/* An error code with this text. A text that is too long for one line of the error stack takes
 * several; the stack prints the youngest first, so they are made from the end. */
int MPIDI_BUFENLARGE_error(bufenlarge_status_t status, const char *text)
{
    int mpi_errno = MPI_SUCCESS;
    const int errclass = error_class(status);
    size_t begin[1 + BUFENLARGE_MESSAGE_BYTES / (LINE_BYTES / 2)] = { 0 };
    const size_t bytes = MPL_MIN(strlen(text), BUFENLARGE_MESSAGE_BYTES);
    size_t lines = 1;

    if (!MPIDI_BUFENLARGE_global.has_world)
        snprintf(start_error, sizeof(start_error), "%s", text);
    while (bytes - begin[lines - 1] > LINE_BYTES) {
        size_t end = begin[lines - 1] + LINE_BYTES;
        while (end > begin[lines - 1] + LINE_BYTES / 2 && text[end - 1] != ' ')
            end--;
        begin[lines++] = end;
    }
    for (size_t i = lines; i-- > 0;) {
        char line[LINE_BYTES + 1];
        const size_t end = i + 1 < lines ? begin[i + 1] : bytes;
        snprintf(line, sizeof(line), "%.*s", (int) (end - begin[i]), text + begin[i]);
        /* MPICH's extractor of texts wants the class to have this name. */
        mpi_errno = MPIR_Err_create_code(mpi_errno, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                         errclass, "**bufenlarge", "**bufenlarge %s", line);
    }
    return mpi_errno;
}

/* Returns the text of the error that keeps this process from starting. */
const char *MPIDI_BUFENLARGE_start_error(void)
{
    return start_error;
}

/* Prints a warning. The library's warn callback, which has no use for `user`. */
void MPIDI_BUFENLARGE_warn(void *user, const char *text)
{
    fprintf(stderr, "bufenlarge: rank %d: warning: %s\n", MPIR_Process.rank, text);
    fflush(stderr);
}

/* Keeps the first error of a VCI until progress can return it, which ends whatever call makes progress then. That a
 * process has failed is told to those that wait for it only (bufenlarge_failure_end.c). */
void MPIDI_BUFENLARGE_keep_error(MPIDI_BUFENLARGE_vci_t * vci, int mpi_errno)
{
    if (vci->mpi_errno == MPI_SUCCESS && MPIR_ERR_GET_CLASS(mpi_errno) != MPIX_ERR_PROC_FAILED)
        vci->mpi_errno = mpi_errno;
}

static void describe_loss(const MPIDI_BUFENLARGE_peer_t * peer, char text[BUFENLARGE_MESSAGE_BYTES])
{
    snprintf(text, BUFENLARGE_MESSAGE_BYTES, "process %u is lost: %s", (unsigned) peer->number, peer->lost_text);
}

/* Makes an error code that says why a lost peer cannot be reached. */
int MPIDI_BUFENLARGE_peer_error(const MPIDI_BUFENLARGE_peer_t * peer)
{
    char text[BUFENLARGE_MESSAGE_BYTES];
    describe_loss(peer, text);
    return MPIDI_BUFENLARGE_error(peer->lost_status, text);
}

/* Prints why a peer is lost: calls that wait for more than one request end a job with no more than "see the MPI_ERROR
 * field". That a process has ended is not printed: the process manager says so, once for the whole job. */
void MPIDI_BUFENLARGE_peer_warn(const MPIDI_BUFENLARGE_peer_t * peer)
{
    char text[BUFENLARGE_MESSAGE_BYTES];
    if (peer->lost_status == BUFENLARGE_ERR_PEER)
        return;
    describe_loss(peer, text);
    MPIDI_BUFENLARGE_warn(NULL, text);
}
