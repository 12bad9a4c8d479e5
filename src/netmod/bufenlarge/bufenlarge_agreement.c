/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_agreement.c: what has to be equal in all processes of a job, and the error when it is not. A process
 * writes it as lines of text, one for each item. The processes exchange only a digest of the text; when the digests
 * differ, two of them exchange the text, so that the error can name both values (bufenlarge_exchange.c).
 */
#include "mpidimpl.h"
#include "bufenlarge_exchange.h"
#include <unistd.h>

/* Writes the own items. */
void MPIDI_BUFENLARGE_agreement(char *text, size_t bytes)
{
    bufenlarge_context_agreement(MPIDI_BUFENLARGE_main_vci()->context, text, bytes);
    const size_t used = strlen(text);
    snprintf(text + used, bytes - used, "\nMPIR_CVAR_CH4_NUM_VCIS=%d", MPIDI_global.n_vcis);
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
static void describe(const MPIDI_BUFENLARGE_starter_t * one, const MPIDI_BUFENLARGE_starter_t * other, char *to,
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
int MPIDI_BUFENLARGE_disagreement(const MPIDI_BUFENLARGE_starter_t * odd, const MPIDI_BUFENLARGE_starter_t * other,
                                  int count)
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
int MPIDI_BUFENLARGE_starter_put(void)
{
    MPIDI_BUFENLARGE_starter_t own;
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

int MPIDI_BUFENLARGE_starter_get(MPIDI_BUFENLARGE_starter_t * starter, int rank, bool failed)
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
