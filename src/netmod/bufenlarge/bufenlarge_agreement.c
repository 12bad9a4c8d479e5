/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_agreement.c: what has to be equal in all processes of a job, and the error when it is not. A process
 * writes it as lines of text, one for each item. The processes exchange only a digest of the text; when the digests
 * differ, two of them exchange the text, so that the error can name both values.
 */
#include "mpidimpl.h"
#include "bufenlarge_exchange.h"
#include "mpidu_init_shm.h"
#include <unistd.h>

/* One of two processes that the error about unequal processes names. */
typedef struct {
    int rank;
    bool failed;                /* it cannot start */
    char host[64];
    char text[BUFENLARGE_MESSAGE_BYTES];        /* what has to be equal; or why it cannot start */
} starter_t;

/* Writes the own items. */
void MPIDI_BUFENLARGE_agreement(char *text, size_t bytes)
{
    bufenlarge_context_agreement(MPIDI_BUFENLARGE_main_vci()->context, text, bytes);
    const size_t used = strlen(text);
    snprintf(text + used, bytes - used, "\nMPIR_CVAR_CH4_NUM_VCIS=%d\nMPIR_CVAR_CH4_RESERVE_VCIS=%d",
             MPIDI_BUFENLARGE_WANTED_VCIS - MPIDI_BUFENLARGE_RESERVED_VCIS, MPIDI_BUFENLARGE_RESERVED_VCIS);
}

/* FNV-1a, 64 bits. Never 0, which stands for a process that cannot start. */
uint64_t MPIDI_BUFENLARGE_digest(const char *text)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        digest = (digest ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    return digest ? digest : 1;
}

static bool has_line(const char *text, const char *line, size_t bytes)
{
    while (text) {
        if (strncmp(text, line, bytes) == 0 && (text[bytes] == '\n' || text[bytes] == '\0'))
            return true;
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return false;
}

/* Joins, with commas, the lines of `text` that are not in `other`. */
static void join_lines(const char *text, const char *other, char *joined, size_t bytes)
{
    size_t used = 0;
    joined[0] = '\0';
    while (text && used < bytes) {
        const size_t line_bytes = strcspn(text, "\n");
        if (!has_line(other, text, line_bytes))
            used += (size_t) snprintf(joined + used, bytes - used, "%s%.*s", used ? ", " : "", (int) line_bytes, text);
        text = text[line_bytes] ? text + line_bytes + 1 : NULL;
    }
}

/* "rank 1 on node2 has provider tcp": the items of `one` that `other` does not have. */
static void describe(const starter_t * one, const starter_t * other, char *to,
                     size_t bytes)
{
    char items[BUFENLARGE_MESSAGE_BYTES];
    if (one->failed) {
        snprintf(to, bytes, "rank %d on %s cannot start: %s", one->rank, one->host, one->text);
        return;
    }
    join_lines(one->text, other->failed ? NULL : other->text, items, sizeof(items));
    snprintf(to, bytes, "rank %d on %s has %s", one->rank, one->host, items);
}

/* Makes the error about a process that differs from another, or cannot start. `count` processes do. */
static int disagreement(const starter_t * odd, const starter_t * other, int count)
{
    char odd_text[BUFENLARGE_MESSAGE_BYTES], other_text[BUFENLARGE_MESSAGE_BYTES], text[BUFENLARGE_MESSAGE_BYTES];
    describe(odd, other, odd_text, sizeof(odd_text));
    describe(other, odd, other_text, sizeof(other_text));
    if (odd->failed)
        snprintf(text, sizeof(text), "%s; %s (%d of %d processes cannot start)", odd_text, other_text, count,
                 MPIR_Process.size);
    else
        snprintf(text, sizeof(text), "%s; %s; all processes need the same (%d of %d differ from rank %d)", odd_text,
                 other_text, count, MPIR_Process.size, other->rank);
    return MPIDI_BUFENLARGE_error(BUFENLARGE_ERR_PROTOCOL, text);
}

/* -- how they learn it -- */

/* Tells the others who this process is and why it differs. A value of PMI has no line that ends within it, so the text
 * goes as bytes. */
static int starter_put(void)
{
    starter_t own;
    char bytes[sizeof(own.host) + sizeof(own.text)];
    gethostname(own.host, sizeof(own.host));
    own.host[sizeof(own.host) - 1] = '\0';
    if (MPIDI_BUFENLARGE_main_vci()->context != NULL)
        MPIDI_BUFENLARGE_agreement(own.text, sizeof(own.text));
    else
        snprintf(own.text, sizeof(own.text), "%s", MPIDI_BUFENLARGE_start_error());
    snprintf(bytes, sizeof(bytes), "%s %s", own.host, own.text);
    return MPIDI_BUFENLARGE_pmi_put("differs", bytes, MPL_MIN(strlen(bytes) + 1, MPIDI_BUFENLARGE_pmi_part_bytes()));
}

static int starter_get(starter_t * starter, int rank, bool failed)
{
    char bytes[sizeof(starter->host) + sizeof(starter->text) + 1];
    const size_t most = MPL_MIN(sizeof(bytes) - 1, MPIDI_BUFENLARGE_pmi_part_bytes());
    size_t got = 0, host_bytes;
    int mpi_errno = MPIDI_BUFENLARGE_pmi_get("differs", rank, bytes, most, &got);
    bytes[got] = '\0';
    host_bytes = strcspn(bytes, " ");
    starter->rank = rank;
    starter->failed = failed;
    snprintf(starter->host, sizeof(starter->host), "%.*s", (int) host_bytes, bytes);
    snprintf(starter->text, sizeof(starter->text), "%s", bytes[host_bytes] ? bytes + host_bytes + 1 : "");
    return mpi_errno;
}

/* -- which processes are unequal -- */

/* What a process has found in its share, and all of a node together. */
typedef struct {
    uint64_t wanted;            /* the digest that it compared with */
    int failed, first_failed;   /* processes that cannot start */
    int unequal, first_unequal;
    bool same_wanted;           /* the processes of the node compared with one digest */
} findings_t;

static findings_t compare_share(const MPIDI_BUFENLARGE_share_t * share, uint64_t wanted)
{
    findings_t found = {.wanted = wanted,.same_wanted = true };
    for (int rank = share->end - 1; rank >= share->begin; rank--) {
        const uint64_t digest = share->digests[rank - share->begin];
        if (digest == 0) {
            found.failed++;
            found.first_failed = rank;
        } else if (digest != wanted) {
            found.unequal++;
            found.first_unequal = rank;
        }
    }
    return found;
}

/* Those of the lower ranks come first. */
static void add_findings(findings_t * all, const findings_t * one)
{
    if (all->failed == 0)
        all->first_failed = one->first_failed;
    if (all->unequal == 0)
        all->first_unequal = one->first_unequal;
    all->failed += one->failed;
    all->unequal += one->unequal;
    all->same_wanted &= one->wanted == all->wanted;
}

/* Compares all entries. The processes of a node have got all of them when one returns from here. */
static int compare(const MPIDI_BUFENLARGE_share_t * share, uint64_t wanted, findings_t * all)
{
    int mpi_errno = MPI_SUCCESS;
    findings_t one = compare_share(share, wanted);
    MPL_COMPILE_TIME_ASSERT(sizeof(findings_t) <= MPIDU_INIT_SHM_BLOCK_SIZE);
    *all = one;
    if (MPIR_Process.local_size == 1)
        return MPI_SUCCESS;
    mpi_errno = MPIDU_Init_shm_put(&one, sizeof(one));
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_barrier();
    MPIR_ERR_CHECK(mpi_errno);
    *all = (findings_t) {.wanted = wanted,.same_wanted = true };
    for (int i = 0; i < MPIR_Process.local_size; i++) {
        mpi_errno = MPIDU_Init_shm_get(i, sizeof(one), &one);
        MPIR_ERR_CHECK(mpi_errno);
        add_findings(all, &one);
    }
    mpi_errno = MPIDU_Init_shm_barrier();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* An entry begins with its digest. */
static int get_digest(int rank, uint64_t * digest)
{
    size_t got = 0;
    *digest = 0;
    return MPIDI_BUFENLARGE_pmi_get("entry", rank, digest, sizeof(*digest), &got);
}

/* Counts the processes that cannot start, or where there are none those that differ from rank 0; *odd_p is the first of
 * them. All processes come to the same result. */
int MPIDI_BUFENLARGE_count_odd(const MPIDI_BUFENLARGE_share_t * share, int *odd_p, int *count_p)
{
    int mpi_errno = MPI_SUCCESS;
    uint64_t of_first = share->own;
    findings_t all;
    *odd_p = 0;
    *count_p = 0;
    mpi_errno = compare(share, share->own, &all);
    MPIR_ERR_CHECK(mpi_errno);
    if (all.failed == 0 && all.unequal == 0 && all.same_wanted)
        goto fn_exit;
    if (MPIR_Process.size > 1) {
        mpi_errno = get_digest(0, &of_first);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = compare(share, of_first, &all);
    MPIR_ERR_CHECK(mpi_errno);
    *odd_p = all.failed ? all.first_failed : all.first_unequal;
    *count_p = all.failed ? all.failed : all.unequal;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Ends MPI_Init of all processes: each knows now that `odd` is not as it should be. */
int MPIDI_BUFENLARGE_refuse(int odd, int count)
{
    int mpi_errno = MPI_SUCCESS;
    const int other = odd == 0 ? 1 : 0;
    uint64_t odd_digest, other_digest;
    starter_t of_odd, of_other;
    if (MPIR_Process.rank == odd || MPIR_Process.rank == other)
        mpi_errno = starter_put();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_pmi_barrier();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = get_digest(odd, &odd_digest);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = get_digest(other, &other_digest);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = starter_get(&of_odd, odd, odd_digest == 0);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = starter_get(&of_other, other, other_digest == 0);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = disagreement(&of_odd, &of_other, count);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
