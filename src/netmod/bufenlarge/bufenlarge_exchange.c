/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_exchange.c: what the processes of a job tell each other in MPI_Init, through the process manager (PMI).
 *
 *   init_local   rank 0 puts the job's key
 *                (MPICH's own barrier, MPII_Init_thread)
 *   init_world   each process gets the key, opens its contexts and puts its entry: a digest of what has to be equal in
 *                all processes, and its addresses
 *                barrier
 *                each node gets all entries into its shared memory, and each process reads them there
 *
 * An entry without a digest says that the process cannot start. All processes see the same entries. So when one is not
 * as that of rank 0, all know it, meet in one more barrier, and end MPI_Init with an error that names both values.
 */
#include "mpidimpl.h"
#include "bufenlarge_exchange.h"
#include "mpidu_init_shm.h"

/* The addresses of all VCIs follow. */
typedef struct {
    uint64_t digest;            /* of what has to be equal; 0: the process cannot start */
} entry_t;

/* The entries of all processes, in the shared memory of a node. */
typedef struct {
    unsigned char *entries;
    size_t stride;
} table_t;

static size_t entry_bytes(int vcis)
{
    return sizeof(entry_t) + (size_t) vcis * BUFENLARGE_ADDRESS_BYTES;
}

static unsigned char *entry_of(const table_t * table, int rank)
{
    return table->entries + (size_t) rank * table->stride;
}

static uint64_t digest_of(const unsigned char *entry)
{
    entry_t begin;
    memcpy(&begin, entry, sizeof(begin));
    return begin.digest;
}

/* -- unequal processes -- */

/* Counts the processes that cannot start, or where there are none those that differ from rank 0; *odd_p is the first
 * of them. */
static int count_odd(const table_t * table, int *odd_p)
{
    const uint64_t own = digest_of(entry_of(table, 0));
    int failed = 0, unequal = 0, first_failed = 0, first_unequal = 0;
    for (int rank = MPIR_Process.size - 1; rank >= 0; rank--) {
        const uint64_t digest = digest_of(entry_of(table, rank));
        if (digest == 0) {
            failed++;
            first_failed = rank;
        } else if (digest != own) {
            unequal++;
            first_unequal = rank;
        }
    }
    *odd_p = failed ? first_failed : first_unequal;
    return failed ? failed : unequal;
}

/* Ends MPI_Init of all processes: each knows now that `odd` is not as it should be. */
static int refuse(const table_t * table, int odd, int count)
{
    int mpi_errno = MPI_SUCCESS;
    const int other = odd == 0 ? 1 : 0;
    MPIDI_BUFENLARGE_starter_t of_odd, of_other;
    if (MPIR_Process.rank == odd || MPIR_Process.rank == other)
        mpi_errno = MPIDI_BUFENLARGE_starter_put();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_pmi_barrier();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_BUFENLARGE_starter_get(&of_odd, odd, digest_of(entry_of(table, odd)) == 0);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_BUFENLARGE_starter_get(&of_other, other, digest_of(entry_of(table, other)) == 0);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_BUFENLARGE_disagreement(&of_odd, &of_other, count);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* -- entries -- */

static void make_entry(unsigned char *entry, int start_errno)
{
    char text[BUFENLARGE_MESSAGE_BYTES];
    entry_t begin;
    memset(entry, 0, entry_bytes(MPIDI_global.n_vcis));
    if (start_errno != MPI_SUCCESS)
        return;
    MPIDI_BUFENLARGE_agreement(text, sizeof(text));
    begin.digest = MPIDI_BUFENLARGE_digest(text);
    memcpy(entry, &begin, sizeof(begin));
    for (int i = 0; i < MPIDI_global.n_vcis; i++)
        bufenlarge_context_address(MPIDI_BUFENLARGE_vci(i)->context,
                                   entry + sizeof(begin) + (size_t) i * BUFENLARGE_ADDRESS_BYTES);
}

/* Gets this process's share of the entries: the processes of a node divide them. An entry of another length is that of
 * an unequal process; of it only the digest is read. */
static int get_entries(const table_t * table, uint64_t own_digest)
{
    int mpi_errno = MPI_SUCCESS;
    const size_t bytes = entry_bytes(MPIDI_global.n_vcis);
    const int local_size = MPIR_Process.local_size;
    const int share = (MPIR_Process.size + local_size - 1) / local_size;
    const int begin = MPIR_Process.local_rank * share;
    const int end = MPL_MIN(begin + share, MPIR_Process.size);
    for (int rank = begin; rank < end; rank++) {
        size_t got = 0;
        mpi_errno = MPIDI_BUFENLARGE_pmi_get("entry", rank, entry_of(table, rank), bytes, &got);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_ERR_CHKANDJUMP(got < sizeof(entry_t) || (got < bytes && digest_of(entry_of(table, rank)) == own_digest),
                            mpi_errno, MPI_ERR_INTERN, "**intern");
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The processes of a node share the table and may differ in their number of VCIs: it has room for the largest. */
static int make_table(table_t * table)
{
    int mpi_errno = MPI_SUCCESS, vcis = MPIDI_global.n_vcis;
    if (MPIDI_CH4_MAX_VCIS > 1 && MPIR_Process.local_size > 1) {
        mpi_errno = MPIDU_Init_shm_put(&vcis, sizeof(vcis));
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDU_Init_shm_barrier();
        MPIR_ERR_CHECK(mpi_errno);
        for (int i = 0; i < MPIR_Process.local_size; i++) {
            int one = 0;
            mpi_errno = MPIDU_Init_shm_get(i, sizeof(one), &one);
            MPIR_ERR_CHECK(mpi_errno);
            vcis = MPL_MAX(vcis, one);
        }
        mpi_errno = MPIDU_Init_shm_barrier();
        MPIR_ERR_CHECK(mpi_errno);
    }
    table->stride = entry_bytes(vcis);
    mpi_errno = MPIDU_Init_shm_alloc((size_t) MPIR_Process.size * table->stride, (void **) &table->entries);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Tells the other processes the own entry, and fills the table with theirs. */
static int fill_table(const table_t * table, int start_errno)
{
    int mpi_errno = MPI_SUCCESS;
    const size_t bytes = entry_bytes(MPIDI_global.n_vcis);
    unsigned char *own = MPL_malloc(bytes, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!own, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    make_entry(own, start_errno);
    if (MPIR_Process.size == 1) {
        memcpy(table->entries, own, bytes);
        goto fn_exit;
    }
    mpi_errno = MPIDI_BUFENLARGE_pmi_put("entry", own, bytes);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_pmi_barrier();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = get_entries(table, digest_of(own));
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_barrier();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(own);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Gives each VCI's context its addresses. */
static int set_addresses(const table_t * table)
{
    const size_t size = (size_t) MPIR_Process.size;
    bufenlarge_status_t status = BUFENLARGE_OK;
    unsigned char *own = MPL_malloc(size * BUFENLARGE_ADDRESS_BYTES, MPL_MEM_ADDRESS);
    if (own == NULL)
        return MPIDI_BUFENLARGE_error(BUFENLARGE_ERR_MEMORY, "no memory for the addresses of the processes");
    for (int vci = 0; vci < MPIDI_global.n_vcis && status == BUFENLARGE_OK; vci++) {
        for (size_t rank = 0; rank < size; rank++)
            memcpy(own + rank * BUFENLARGE_ADDRESS_BYTES,
                   entry_of(table, (int) rank) + sizeof(entry_t) + (size_t) vci * BUFENLARGE_ADDRESS_BYTES,
                   BUFENLARGE_ADDRESS_BYTES);
        status = bufenlarge_context_set_addresses(MPIDI_BUFENLARGE_vci(vci)->context, own, size);
    }
    MPL_free(own);
    return status == BUFENLARGE_OK ? MPI_SUCCESS :
        MPIDI_BUFENLARGE_error(status, "the addresses of the processes are not valid");
}

/* Tells the other processes the own entry and takes theirs. With start_errno this process cannot start; it takes part
 * all the same, so that the others learn it, and it says what they say when it is the one that they name. */
int MPIDI_BUFENLARGE_exchange(int start_errno)
{
    int mpi_errno = MPI_SUCCESS, odd, count;
    table_t table;
    mpi_errno = make_table(&table);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = fill_table(&table, start_errno);
    MPIR_ERR_CHECK(mpi_errno);
    count = count_odd(&table, &odd);
    if (count > 0 && MPIR_Process.size > 1)
        mpi_errno = refuse(&table, odd, count);
    else if (start_errno == MPI_SUCCESS)
        mpi_errno = set_addresses(&table);
    if (start_errno != MPI_SUCCESS && (MPIR_Process.rank != odd || count == MPIR_Process.size))
        mpi_errno = start_errno;
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_barrier();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_free(table.entries);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
