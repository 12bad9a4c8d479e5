/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_places.c: the places that processes have in MPICH's address tables, which differ most between its
 * versions, so this file asks for the version, too (bufenlarge_mpich.h). Up to 4.3 the netmod makes a table for the
 * processes that it is given by name. Since 5.0 MPICH makes one for each job that it meets, and the netmod fills it.
 */
#include "mpidimpl.h"
#include "bufenlarge_noinline.h"
#include "bufenlarge_spawn.h"

#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)

int MPIDI_BUFENLARGE_insert_upid(MPIR_Lpid lpid, const char *upid, int upid_len)
{
    if (lpid & MPIR_LPID_DYNAMIC_MASK)  /* the first of another job's */
        MPIDI_BUFENLARGE_forget_unused(MPIDI_BUFENLARGE_main_vci());
    return MPIDI_BUFENLARGE_number_of_name(upid, upid_len,
                                           &MPIDI_BUFENLARGE_av_of_place(lpid)->netmod.bufenlarge.number);
}

/* All VCIs are there since the first communicator, and all processes have as many (bufenlarge_agreement.c). */
int MPIDI_BUFENLARGE_comm_set_vcis(MPIR_Comm * comm, int num_implicit, int num_reserved, MPIDI_num_vci_t * all_num_vcis)
{
    for (int rank = 0; rank < comm->local_size; rank++)
        all_num_vcis[rank] = (MPIDI_num_vci_t) {.n_vcis = num_implicit,.n_total_vcis = num_implicit + num_reserved };
    return MPI_SUCCESS;
}

#else

/* Stands for the number of a process that has a place. */
#define HAS_PLACE UINT32_MAX

static bool find_gpid(uint32_t number, uint64_t * gpid)
{
    int table = 0, index = (int) number;
    if (MPIDI_BUFENLARGE_is_other_job(number) && !MPIDI_BUFENLARGE_find_place(number, &table, &index))
        return false;
    *gpid = MPIDIU_GPID_CREATE(table, index);
    return true;
}

/* Puts the processes that have no place yet, `count` of them, into a new table. */
static int make_table(const uint32_t * numbers, int size, int count, uint64_t * gpids)
{
    int avtid, lpid = 0;
    int mpi_errno = count > 0 ? MPIDIU_new_avt(count, &avtid) : MPI_SUCCESS;
    for (int i = 0; mpi_errno == MPI_SUCCESS && i < size; i++) {
        if (numbers[i] == HAS_PLACE)
            continue;
        gpids[i] = MPIDIU_GPID_CREATE(avtid, lpid);
        MPIDI_BUFENLARGE_av_of_place(gpids[i])->netmod.bufenlarge.number = numbers[i];
        lpid++;
    }
    return mpi_errno;
}

/* Gives the numbers of the processes with these names, HAS_PLACE for those that have one; and how many have none. */
static int number_names(int size, const int *name_bytes, const char *name, uint32_t * numbers, uint64_t * gpids,
                        int *count_p)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_BUFENLARGE_forget_unused(MPIDI_BUFENLARGE_main_vci());
    for (int i = 0; i < size && mpi_errno == MPI_SUCCESS; name += name_bytes[i++]) {
        mpi_errno = MPIDI_BUFENLARGE_number_of_name(name, name_bytes[i], &numbers[i]);
        if (mpi_errno == MPI_SUCCESS && find_gpid(numbers[i], &gpids[i]))
            numbers[i] = HAS_PLACE;
        else
            (*count_p)++;
    }
    return mpi_errno;
}

int MPIDI_BUFENLARGE_upids_to_gpids(int size, int *remote_upid_size, char *remote_upids,
                                    uint64_t * remote_gpids)
{
    int mpi_errno = MPI_SUCCESS, count = 0;
    uint32_t *numbers = MPL_calloc(size, sizeof(*numbers), MPL_MEM_ADDRESS);
    MPIR_FUNC_ENTER;

    MPIR_ERR_CHKANDJUMP(!numbers, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
    mpi_errno = number_names(size, remote_upid_size, remote_upids, numbers, remote_gpids, &count);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_table(numbers, size, count, remote_gpids);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(numbers);
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* init_world has opened all. */
int MPIDI_BUFENLARGE_init_vcis(int num_vcis, int *num_vcis_actual)
{
    *num_vcis_actual = num_vcis;
    return MPI_SUCCESS;
}

/* init_world has done everything, for all VCIs. */
int MPIDI_BUFENLARGE_post_init(void)
{
    return MPI_SUCCESS;
}

#endif
