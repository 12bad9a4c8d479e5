/* SPDX-License-Identifier: MIT */
/* bufenlarge_pmi.c: bytes as values of the process manager (PMI), and the job's key, which goes that way. */
#include "mpidimpl.h"
#include "bufenlarge_exchange.h"
#include <ctype.h>
#include <sys/random.h>

/* How many bytes fit one value: it is text, and every byte takes two digits. */
size_t MPIDI_BUFENLARGE_pmi_part_bytes(void)
{
    return (size_t) MPIR_pmi_max_val_size() / 2 - 1;
}

static void name_part(char *key, size_t bytes, const char *name, int rank, size_t part)
{
    snprintf(key, bytes, "bufenlarge-%s-%d-%d", name, rank, (int) part);
}

static void encode(char *text, const unsigned char *data, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes; i++) {
        *text++ = digits[data[i] >> 4];
        *text++ = digits[data[i] & 15];
    }
    *text = '\0';
}

/* Reads `bytes` bytes at most. Returns how many there are. */
static size_t decode(const char *text, unsigned char *data, size_t bytes)
{
    size_t count = 0;
    for (; count < bytes && isxdigit((unsigned char) text[0]) && isxdigit((unsigned char) text[1]); text += 2) {
        const char digits[] = { text[0], text[1], '\0' };
        data[count++] = (unsigned char) strtoul(digits, NULL, 16);
    }
    return count;
}

/* Puts the bytes in as many parts as they need. */
int MPIDI_BUFENLARGE_pmi_put(const char *name, const void *data, size_t bytes)
{
    int mpi_errno = MPI_SUCCESS;
    char key[64];
    char *text = MPL_malloc((size_t) MPIR_pmi_max_val_size(), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!text, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    for (size_t part = 0, at = 0; at < bytes; part++, at += MPIDI_BUFENLARGE_pmi_part_bytes()) {
        name_part(key, sizeof(key), name, MPIR_Process.rank, part);
        encode(text, (const unsigned char *) data + at, MPL_MIN(MPIDI_BUFENLARGE_pmi_part_bytes(), bytes - at));
        mpi_errno = MPIR_pmi_kvs_put(key, text);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(text);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Gets `bytes` bytes at most of what the rank has put; *got_p says how many. */
int MPIDI_BUFENLARGE_pmi_get(const char *name, int rank, void *data, size_t bytes, size_t * got_p)
{
    int mpi_errno = MPI_SUCCESS;
    char key[64];
    size_t wanted, got;
    char *text = MPL_malloc((size_t) MPIR_pmi_max_val_size(), MPL_MEM_ADDRESS);
    *got_p = 0;
    MPIR_ERR_CHKANDJUMP(!text, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    do {
        wanted = MPL_MIN(MPIDI_BUFENLARGE_pmi_part_bytes(), bytes - *got_p);
        name_part(key, sizeof(key), name, rank, *got_p / MPIDI_BUFENLARGE_pmi_part_bytes());
        mpi_errno = MPIR_pmi_kvs_get(rank, key, text, MPIR_pmi_max_val_size());
        MPIR_ERR_CHECK(mpi_errno);
        got = decode(text, (unsigned char *) data + *got_p, wanted);
        *got_p += got;
    } while (got == wanted && *got_p < bytes);

  fn_exit:
    MPL_free(text);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* -- the job's key -- */

/* Rank 0 draws the key and hands it to all processes through PMI, so it is on no command line, and a process outside
 * the job does not learn it. It has to be known before a process makes its address, because any process that has the
 * address can connect; so rank 0 puts it before a barrier that MPICH has anyway. */
int MPIDI_BUFENLARGE_job_key_put(void)
{
    uint64_t key = 0;
    ssize_t bytes;
    if (MPIR_Process.rank != 0)
        return MPI_SUCCESS;
    do {
        bytes = getrandom(&key, sizeof(key), 0);
    } while (bytes < 0 && errno == EINTR);
    if (bytes != (ssize_t) sizeof(key))
        return MPIDI_BUFENLARGE_error(BUFENLARGE_ERR_FABRIC, "getrandom gave no key for the job");
    MPIDI_BUFENLARGE_global.job_key = key;
    return MPIR_Process.size > 1 ? MPIDI_BUFENLARGE_pmi_put("key", &key, sizeof(key)) : MPI_SUCCESS;
}

int MPIDI_BUFENLARGE_job_key_get(void)
{
    int mpi_errno = MPI_SUCCESS;
    uint64_t key;
    size_t got = 0;
    if (MPIR_Process.rank == 0)
        return MPI_SUCCESS;
    mpi_errno = MPIDI_BUFENLARGE_pmi_get("key", 0, &key, sizeof(key), &got);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(got != sizeof(key), mpi_errno, MPI_ERR_INTERN, "**intern");
    MPIDI_BUFENLARGE_global.job_key = key;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
