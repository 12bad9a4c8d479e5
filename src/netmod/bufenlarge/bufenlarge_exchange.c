/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_exchange.c: what the processes of a job tell each other in MPI_Init, through the process manager (PMI).
 *
 *   init_local   rank 0 puts the job's key
 *                (MPICH's own barrier, MPII_Init_thread)
 *   init_world   each process gets the key, opens its contexts and puts its entry: a digest of what has to be equal in
 *                all processes, and its addresses
 *                barrier
 *                each node gets all addresses into its shared memory, where the contexts of its processes read them
 *
 * Each process gets a share of the entries, compares their digests and tells the other processes of its node what it
 * has found.
 *
 * An entry without a digest says that the process cannot start. All processes see the same entries. So when one is not
 * as that of rank 0, all know it, meet in one more barrier, and end MPI_Init with an error that names both values.
 */
#include "mpidimpl.h"
#include "bufenlarge_exchange.h"
#include "mpidu_init_shm.h"

/* The addresses of all processes, in the shared memory of a node, and this process's share of the digests. */
typedef struct {
    unsigned char *addresses;
    size_t address_bytes;       /* of the own family; that of all, unless the job is refused */
    size_t stride;
    MPIDI_BUFENLARGE_share_t share;
} table_t;

/* An entry is its digest, and the addresses of all VCIs. */
static size_t entry_bytes(const table_t * table)
{
    return sizeof(uint64_t) + (size_t) MPIDI_BUFENLARGE_WANTED_VCIS * table->address_bytes;
}

/* -- entries -- */

static void make_entry(const table_t * table, unsigned char *entry, int start_errno)
{
    char text[BUFENLARGE_MESSAGE_BYTES];
    uint64_t digest;
    memset(entry, 0, entry_bytes(table));
    if (start_errno != MPI_SUCCESS)
        return;
    MPIDI_BUFENLARGE_agreement(text, sizeof(text));
    digest = MPIDI_BUFENLARGE_digest(text);
    memcpy(entry, &digest, sizeof(digest));
    for (int i = 0; i < MPIDI_BUFENLARGE_WANTED_VCIS; i++)
        bufenlarge_context_address(MPIDI_BUFENLARGE_vci(i)->context,
                                   entry + sizeof(digest) + (size_t) i * table->address_bytes);
}

/* Keeps what this process needs of an entry. */
static void keep_entry(const table_t * table, int rank, const unsigned char *entry)
{
    memcpy(&table->share.digests[rank - table->share.begin], entry, sizeof(uint64_t));
    memcpy(table->addresses + (size_t) rank * table->stride, entry + sizeof(uint64_t),
           entry_bytes(table) - sizeof(uint64_t));
}

/* Gets this process's share of the entries. An entry of another length is that of an unequal process; of it only the
 * digest counts. `entry` has room for one. */
static int get_entries(const table_t * table, unsigned char *entry)
{
    int mpi_errno = MPI_SUCCESS;
    const size_t bytes = entry_bytes(table);
    for (int rank = table->share.begin; rank < table->share.end; rank++) {
        size_t got = 0;
        mpi_errno = MPIDI_BUFENLARGE_pmi_get("entry", rank, entry, bytes, &got);
        MPIR_ERR_CHECK(mpi_errno);
        keep_entry(table, rank, entry);
        const bool equal = table->share.digests[rank - table->share.begin] == table->share.own;
        MPIR_ERR_CHKANDJUMP(got < sizeof(uint64_t) || (got < bytes && equal), mpi_errno, MPI_ERR_INTERN, "**intern");
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The processes of a node share the table and may differ in their number of VCIs: it has room for the largest. */
static int most_vcis(int *vcis_p)
{
    int mpi_errno = MPI_SUCCESS, vcis = MPIDI_BUFENLARGE_WANTED_VCIS;
    *vcis_p = vcis;
    if (MPIDI_CH4_MAX_VCIS == 1 || MPIR_Process.local_size == 1)
        return MPI_SUCCESS;
    mpi_errno = MPIDU_Init_shm_put(&vcis, sizeof(vcis));
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_barrier();
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < MPIR_Process.local_size; i++) {
        mpi_errno = MPIDU_Init_shm_get(i, sizeof(vcis), &vcis);
        MPIR_ERR_CHECK(mpi_errno);
        *vcis_p = MPL_MAX(*vcis_p, vcis);
    }
    mpi_errno = MPIDU_Init_shm_barrier();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The addresses stay until MPIDI_BUFENLARGE_addresses_free(). The table has room for those of the longer family, since
 * unequal processes of a node fill it, too; memory that nobody writes to is not taken from the system. */
static int make_table(table_t * table, int start_errno)
{
    int mpi_errno = MPI_SUCCESS, vcis;
    const int size = MPIR_Process.size, local_size = MPIR_Process.local_size;
    const int share = (size + local_size - 1) / local_size;
    mpi_errno = most_vcis(&vcis);
    MPIR_ERR_CHECK(mpi_errno);
    table->address_bytes = start_errno == MPI_SUCCESS ?
        bufenlarge_context_address_bytes(MPIDI_BUFENLARGE_main_vci()->context) : BUFENLARGE_ADDRESS_BYTES_MAX;
    table->stride = (size_t) vcis * table->address_bytes;
    mpi_errno = MPIDU_Init_shm_alloc((size_t) size * (size_t) vcis * BUFENLARGE_ADDRESS_BYTES_MAX,
                                     &MPIDI_BUFENLARGE_global.addresses);
    MPIR_ERR_CHECK(mpi_errno);
    table->addresses = MPIDI_BUFENLARGE_global.addresses;
    table->share.begin = MPL_MIN(MPIR_Process.local_rank * share, size);
    table->share.end = MPL_MIN(table->share.begin + share, size);
    table->share.digests = MPL_calloc((size_t) share, sizeof(uint64_t), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!table->share.digests, mpi_errno, MPI_ERR_NO_MEM, "**nomem");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Tells the other processes the own entry, and fills this process's share of the table with theirs. */
static int fill_table(table_t * table, int start_errno)
{
    int mpi_errno = MPI_SUCCESS;
    const size_t bytes = entry_bytes(table);
    unsigned char *entry = MPL_malloc(bytes, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!entry, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    make_entry(table, entry, start_errno);
    memcpy(&table->share.own, entry, sizeof(table->share.own));
    if (MPIR_Process.size == 1) {
        keep_entry(table, 0, entry);
        goto fn_exit;
    }
    mpi_errno = MPIDI_BUFENLARGE_pmi_put("entry", entry, bytes);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_pmi_barrier();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = get_entries(table, entry);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(entry);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Each VCI's context reads its addresses in the table. */
static int share_addresses(const table_t * table)
{
    bufenlarge_status_t status = BUFENLARGE_OK;
    for (int vci = 0; vci < MPIDI_BUFENLARGE_WANTED_VCIS && status == BUFENLARGE_OK; vci++)
        status = bufenlarge_context_share_addresses(MPIDI_BUFENLARGE_vci(vci)->context,
                                                    table->addresses + (size_t) vci * table->address_bytes,
                                                    table->stride, (size_t) MPIR_Process.size);
    return status == BUFENLARGE_OK ? MPI_SUCCESS :
        MPIDI_BUFENLARGE_error(status, "the addresses of the processes are not valid");
}

/* Tells the other processes the own entry and takes theirs. With start_errno this process cannot start; it takes part
 * all the same, so that the others learn it, and it says what they say when it is the one that they name. */
int MPIDI_BUFENLARGE_exchange(int start_errno)
{
    int mpi_errno = MPI_SUCCESS, odd, count;
    table_t table = {.addresses = NULL };
    mpi_errno = MPIDI_BUFENLARGE_node_begin();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_table(&table, start_errno);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = fill_table(&table, start_errno);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_BUFENLARGE_count_odd(&table.share, &odd, &count);
    MPIR_ERR_CHECK(mpi_errno);
    if (count > 0 && MPIR_Process.size > 1)
        mpi_errno = MPIDI_BUFENLARGE_refuse(odd, count);
    else if (start_errno == MPI_SUCCESS)
        mpi_errno = share_addresses(&table);
    if (start_errno != MPI_SUCCESS && (MPIR_Process.rank != odd || count == MPIR_Process.size))
        mpi_errno = start_errno;
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(table.share.digests);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* To be called when the contexts are closed. */
int MPIDI_BUFENLARGE_addresses_free(void)
{
    void *addresses = MPIDI_BUFENLARGE_global.addresses;
    MPIDI_BUFENLARGE_global.addresses = NULL;
    const int mpi_errno = addresses ? MPIDU_Init_shm_free(addresses) : MPI_SUCCESS;
    return mpi_errno != MPI_SUCCESS ? mpi_errno : MPIDI_BUFENLARGE_node_end();
}
