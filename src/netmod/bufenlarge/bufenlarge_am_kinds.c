/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_am_kinds.c: the kinds of message that begin with MPIDI_BUFENLARGE_wire_t, in one table: how much data may
 * follow the header, what is wrong with a header, and what is done with a message that is here as a whole. An eager
 * message has a header of its own; one that comes in fragments is given the header of an active message first.
 */
#include "mpidimpl.h"
#include "bufenlarge_am_kinds.h"
#include "bufenlarge_end.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_rma_impl.h"
#include "bufenlarge_spawn.h"

/* More than the reports of 1,024 processes, each with a channel to each. */
#define REPORT_BYTES_MAX ((uint64_t) 1 << 30)

/* More than MPICH puts into a message between processes that connect. */
#define SPAWN_BYTES_MAX ((uint64_t) 4096)

/* More than the names of all processes of a group of 16 million. */
#define LEADERS_BYTES_MAX ((uint64_t) 1 << 30)

/* A bit for each of 16 million members. */
#define CONSENSUS_BYTES_MAX ((uint64_t) 2 << 20)

/* -- headers -- */

static bool send_is_valid(const MPIDI_BUFENLARGE_wire_t * wire, const MPIDIG_hdr_t * hdr)
{
    if (wire->am_hdr_bytes < sizeof(*hdr) || hdr->data_sz < 0)
        return false;
    if (hdr->flags & MPIDIG_AM_SEND_FLAGS_RTS)
        return wire->data_bytes == 0 && hdr->rndv_hdr_sz == 0
            && MPIDIG_AM_SEND_GET_RNDV_ID(hdr->flags) == MPIDIG_RNDV_GENERIC;
    return wire->data_bytes == (uint64_t) hdr->data_sz
        && (wire->detail != 0 || hdr->data_sz <= MPIDI_BUFENLARGE_PACK_BUFFER_SIZE);
}

static const char *check_handler(const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    if (unlikely(wire->handler_id >= MPIDI_AM_HANDLERS_MAX ||
                 MPIDIG_global.target_msg_cbs[wire->handler_id] == NULL))
        return "it sent an active message that has no handler";
    if (wire->handler_id == MPIDIG_SEND && unlikely(!send_is_valid(wire, am_hdr)))
        return MPIDI_BUFENLARGE_CONTRADICTION;
    if (wire->handler_id == MPIDIG_PART_SEND_INIT && wire->am_hdr_bytes < sizeof(MPIDIG_part_send_init_msg_t))
        return MPIDI_BUFENLARGE_CONTRADICTION;
    return NULL;
}

static const char *check_am(uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    return unlikely(wire->detail != 0) ? MPIDI_BUFENLARGE_UNKNOWN_KIND : check_handler(wire, am_hdr);
}

static const char *check_rendezvous(uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    if (wire->detail == 0)
        return MPIDI_BUFENLARGE_UNKNOWN_KIND;
    if (wire->data_bytes == 0)
        return "it sent a rendezvous message without data";
    return check_handler(wire, am_hdr);
}

static const char *check_report(uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    return MPIDI_BUFENLARGE_report_is_awaited(peer) ? NULL : "it sent a report to a process that awaits none of it";
}

static const char *check_eager_limit(uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    return wire->detail > 1 || wire->data_bytes > 0 ? MPIDI_BUFENLARGE_UNKNOWN_KIND : NULL;
}

static const char *check_revoke(uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    return wire->data_bytes > 0 ? MPIDI_BUFENLARGE_UNKNOWN_KIND : NULL;
}

static const char *check_disconnect(uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    return MPIDI_BUFENLARGE_is_other_job(peer) ? NULL : MPIDI_BUFENLARGE_UNKNOWN_KIND;
}

/* -- whole messages -- */

static const char *take_am(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire,
                           const void *am_hdr, const void *data)
{
    const MPIR_Request *last = MPIDI_BUFENLARGE_unexpected_last(vci);
    const int mpi_errno = MPIDI_BUFENLARGE_call_handler(vci, wire, am_hdr, data, 0, NULL);
    if (unlikely(mpi_errno != MPI_SUCCESS))
        MPIDI_BUFENLARGE_keep_error(vci, mpi_errno);
    if (wire->handler_id == MPIDIG_SEND)
        MPIDI_BUFENLARGE_unexpected_begin(vci, peer, last, (size_t) wire->data_bytes);
    return NULL;
}

static const char *take_report(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire,
                               const void *am_hdr, const void *data)
{
    MPIDI_BUFENLARGE_report_arrived(peer, data, (size_t) wire->data_bytes);
    return NULL;
}

static const char *take_spawn(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire,
                              const void *am_hdr, const void *data)
{
    const MPIDI_BUFENLARGE_spawn_key_t key = MPIDI_BUFENLARGE_spawn_key((int) wire->detail, peer);
    MPIDI_BUFENLARGE_spawn_arrived(&key, data, (size_t) wire->data_bytes);
    return NULL;
}

static const char *take_leaders(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire,
                                const void *am_hdr, const void *data)
{
    return MPIDI_BUFENLARGE_leaders_arrived(peer, (int) wire->detail, data, (size_t) wire->data_bytes);
}

static const char *take_disconnect(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire,
                                   const void *am_hdr, const void *data)
{
    MPIDI_BUFENLARGE_peer_t *from = MPIDI_BUFENLARGE_peer_get(vci, peer);
    if (from == NULL)
        return MPIDI_BUFENLARGE_NO_MEMORY;
    MPIDI_BUFENLARGE_disconnect_arrived(from, wire->detail);
    return NULL;
}

static const char *take_eager_limit(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire,
                                    const void *am_hdr, const void *data)
{
    MPIDI_BUFENLARGE_peer_t *from = MPIDI_BUFENLARGE_peer_get(vci, peer);
    if (from == NULL)
        return MPIDI_BUFENLARGE_NO_MEMORY;
    MPIDI_BUFENLARGE_eager_limit_arrived(vci, from, wire->detail != 0);
    return NULL;
}

static const char *take_revoke(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire,
                               const void *am_hdr, const void *data)
{
    MPIDI_BUFENLARGE_revoke_arrived(peer, wire->detail);
    return NULL;
}

static const char *take_consensus(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire,
                                  const void *am_hdr, const void *data)
{
    return MPIDI_BUFENLARGE_consensus_arrived(wire->detail, data, (size_t) wire->data_bytes);
}

const MPIDI_BUFENLARGE_am_kind_t MPIDI_BUFENLARGE_am_kinds[MPIDI_BUFENLARGE_KIND_COUNT] = {
    [MPIDI_BUFENLARGE_KIND_AM] = {UINT64_MAX, check_am, take_am, true},
    [MPIDI_BUFENLARGE_KIND_REPORT] = {REPORT_BYTES_MAX, check_report, take_report, false},
    [MPIDI_BUFENLARGE_KIND_RENDEZVOUS] = {0, check_rendezvous, MPIDI_BUFENLARGE_rendezvous_arrived, false},
    [MPIDI_BUFENLARGE_KIND_RMA_OPERATIONS] =
        {MPIDI_BUFENLARGE_EAGER_MAX, NULL, MPIDI_BUFENLARGE_operations_arrived, false},
    [MPIDI_BUFENLARGE_KIND_RMA_REPLIES] =
        {MPIDI_BUFENLARGE_EAGER_MAX, NULL, MPIDI_BUFENLARGE_replies_arrived, false},
    [MPIDI_BUFENLARGE_KIND_SPAWN] = {SPAWN_BYTES_MAX, NULL, take_spawn, false},
    [MPIDI_BUFENLARGE_KIND_DISCONNECT] = {SPAWN_BYTES_MAX, check_disconnect, take_disconnect, false},
    [MPIDI_BUFENLARGE_KIND_EAGER_LIMIT] = {0, check_eager_limit, take_eager_limit, false},
    [MPIDI_BUFENLARGE_KIND_REVOKE] = {0, check_revoke, take_revoke, false},
    [MPIDI_BUFENLARGE_KIND_CONSENSUS] = {CONSENSUS_BYTES_MAX, NULL, take_consensus, false},
    [MPIDI_BUFENLARGE_KIND_LEADERS] = {LEADERS_BYTES_MAX, NULL, take_leaders, false},
};
