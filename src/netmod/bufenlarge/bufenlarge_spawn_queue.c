/* SPDX-License-Identifier: MIT */
/* bufenlarge_spawn_queue.c: messages between processes that connect, from their arrival until a call asks for them. */
#include "mpidimpl.h"
#include "bufenlarge_spawn.h"
#include "utlist.h"

typedef struct arrived {
    struct arrived *next, *prev;
    int tag;
    size_t bytes;
    char data[];
} arrived_t;

/* In order of arrival; the lock of VCI 0 guards it. */
static arrived_t *arrived_list;

/* Keeps a copy of the message. Without memory for it the message is lost, and the call that asks for it ends when its
 * time is over. */
void MPIDI_BUFENLARGE_spawn_arrived(int tag, const void *data, size_t bytes)
{
    arrived_t *arrived = MPL_malloc(sizeof(*arrived) + bytes, MPL_MEM_BUFFER);
    if (arrived == NULL)
        return;
    arrived->tag = tag;
    arrived->bytes = bytes;
    if (bytes > 0)
        memcpy(arrived->data, data, bytes);
    DL_APPEND(arrived_list, arrived);
}

static void discard(arrived_t * arrived)
{
    DL_DELETE(arrived_list, arrived);
    MPL_free(arrived);
}

void MPIDI_BUFENLARGE_spawn_finalize(void)
{
    while (arrived_list)
        discard(arrived_list);
}

/* Takes the oldest message with this tag out of the list. Returns false when there is none. */
bool MPIDI_BUFENLARGE_spawn_take(int tag, void *buf, size_t bytes)
{
    arrived_t *arrived;
    bool found = false;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    DL_SEARCH_SCALAR(arrived_list, arrived, tag, tag);
    if (arrived) {
        memcpy(buf, arrived->data, MPL_MIN(bytes, arrived->bytes));
        discard(arrived);
        found = true;
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    return found;
}
