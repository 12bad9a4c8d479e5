/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_ulfm.c: what MPICH asks its device for its functions MPIX_Comm_failure_ack, MPIX_Comm_failure_get_acked,
 * MPIX_Comm_revoke, MPIX_Comm_agree and MPIX_Comm_shrink. CH4 has none of it, so MPICH calls the netmod (mpich-patches,
 * 0010). MPICH's own functions for the last two do not give all survivors the same result when a process fails
 * meanwhile.
 */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"

static int not_here(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_ERR_SETSIMPLE(mpi_errno, MPI_ERR_OTHER, "**bufenlarge_closed");
    return mpi_errno;
}

/* -- acknowledgement -- */

int MPID_Comm_failure_ack(MPIR_Comm * comm)
{
    if (!MPIDI_BUFENLARGE_global.has_world)
        return not_here();
    const int mpi_errno = MPID_Progress_test(NULL);
    MPIDI_COMM(comm, netmod.bufenlarge).acknowledged = MPIDI_BUFENLARGE_failure_count();
    return mpi_errno;
}

/* Makes the group of those members for which `is_member` is set. */
static int group_of(MPIR_Comm * comm, const bool * is_member, MPIR_Group ** group_p)
{
    int mpi_errno = MPI_SUCCESS, count = 0;
    MPIR_Group *all = NULL;
    int *ranks = MPL_malloc((size_t) comm->remote_size * sizeof(int), MPL_MEM_GROUP);
    MPIR_ERR_CHKANDJUMP(!ranks, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    for (int rank = 0; rank < comm->remote_size; rank++) {
        if (is_member[rank])
            ranks[count++] = rank;
    }
    *group_p = MPIR_Group_empty;
    if (count == 0)
        goto fn_exit;
    mpi_errno = comm->comm_kind == MPIR_COMM_KIND__INTERCOMM ? MPIR_Comm_remote_group_impl(comm, &all)
        : MPIR_Comm_group_impl(comm, &all);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Group_incl_impl(all, count, ranks, group_p);
    MPIR_Group_release(all);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(ranks);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Comm_failure_get_acked(MPIR_Comm * comm, MPIR_Group ** group_p)
{
    int mpi_errno = MPI_SUCCESS;
    bool *is_failed = MPL_malloc((size_t) comm->remote_size * sizeof(bool), MPL_MEM_GROUP);
    MPIR_ERR_CHKANDJUMP(!is_failed, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    MPIDI_BUFENLARGE_failed_members(comm, MPIDI_COMM(comm, netmod.bufenlarge).acknowledged, is_failed);
    mpi_errno = group_of(comm, is_failed, group_p);
    MPL_free(is_failed);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* -- agreement -- */

static int prepare(MPIR_Comm * comm, bool ** is_failed_p)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_ERR_CHKANDJUMP(!MPIDI_BUFENLARGE_global.has_world || comm->comm_kind != MPIR_COMM_KIND__INTRACOMM, mpi_errno,
                        MPI_ERR_COMM, "**comm");
    *is_failed_p = MPL_calloc((size_t) comm->local_size, sizeof(bool), MPL_MEM_COMM);
    MPIR_ERR_CHKANDJUMP(!*is_failed_p, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    /* Learns of failures that this process has not looked for. */
    mpi_errno = MPID_Progress_test(NULL);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_BUFENLARGE_comm_agree(MPIR_Comm * comm, int *flag)
{
    bool all_known = false, *is_failed = NULL;
    uint32_t word = (uint32_t) *flag;
    int mpi_errno = prepare(comm, &is_failed);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_BUFENLARGE_consensus(comm, &word, &all_known, is_failed);
    MPIR_ERR_CHECK(mpi_errno);
    *flag = (int) word;
    if (!all_known)
        MPIR_ERR_SETANDJUMP(mpi_errno, MPIX_ERR_PROC_FAILED, "**mpix_comm_agree");

  fn_exit:
    MPL_free(is_failed);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

__thread MPIR_Comm *MPIDI_BUFENLARGE_repaired;

static void forget_repair(MPIR_Comm * made)
{
    MPIDI_COMM(made, netmod.bufenlarge).repaired = NULL;
    if (made->node_comm)
        MPIDI_COMM(made->node_comm, netmod.bufenlarge).repaired = NULL;
    if (made->node_roots_comm)
        MPIDI_COMM(made->node_roots_comm, netmod.bufenlarge).repaired = NULL;
}

/* Makes a communicator of those that have not failed. Returns NULL when it cannot, since one has failed meanwhile: then
 * the others may wait for messages that this process does not send. */
static MPIR_Comm *make_without(MPIR_Comm * comm, bool * is_failed)
{
    MPIR_Comm *made = NULL;
    MPIR_Group *group = NULL;
    for (int rank = 0; rank < comm->local_size; rank++)
        is_failed[rank] = !is_failed[rank];
    int mpi_errno = group_of(comm, is_failed, &group);
    MPIDI_BUFENLARGE_repaired = comm;
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIR_Comm_create_group_impl(comm, group, MPIDI_BUFENLARGE_repair_tag(comm), &made);
    if (group != NULL)
        MPIR_Group_release(group);
    if (mpi_errno != MPI_SUCCESS && made != NULL) {
        MPIR_Comm_release(made);
        made = NULL;
    }
    MPIDI_BUFENLARGE_repaired = NULL;
    if (made == NULL)
        MPIDI_BUFENLARGE_repair_give_up(comm);
    else
        forget_repair(made);
    return made;
}

int MPIDI_BUFENLARGE_comm_shrink(MPIR_Comm * comm, MPIR_Comm ** shrunk_p)
{
    bool all_known = false, *is_failed = NULL;
    uint32_t word = 1;
    int mpi_errno = prepare(comm, &is_failed);
    MPIR_ERR_CHECK(mpi_errno);
    *shrunk_p = NULL;
    while (*shrunk_p == NULL) {
        mpi_errno = MPIDI_BUFENLARGE_consensus(comm, &word, &all_known, is_failed);
        MPIR_ERR_CHECK(mpi_errno);
        *shrunk_p = make_without(comm, is_failed);
        word = *shrunk_p != NULL;
        mpi_errno = MPIDI_BUFENLARGE_consensus(comm, &word, &all_known, is_failed);
        MPIR_ERR_CHECK(mpi_errno);
        if (word == 0 && *shrunk_p != NULL) {
            MPIR_Comm_release(*shrunk_p);
            *shrunk_p = NULL;
        }
    }

  fn_exit:
    MPL_free(is_failed);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* MPICH calls it in its own agreement only. */
int MPID_Comm_get_all_failed_procs(MPIR_Comm * comm, MPIR_Group ** failed_group, int tag)
{
    return not_here();
}

/* -- revocation -- */

int MPID_Comm_revoke(MPIR_Comm * comm, int is_remote)
{
    if (!MPIDI_BUFENLARGE_global.has_world)
        return not_here();
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
    MPIDI_BUFENLARGE_revoke(comm);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
    return MPI_SUCCESS;
}
