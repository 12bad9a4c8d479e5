/* SPDX-License-Identifier: MIT */
/*
 * raw_fabric.h: one FI_EP_MSG connection with nothing above it, for raw_bench.c.
 *
 * Every failure ends the program with the call and libfabric's reason: a measuring program has
 * nobody to report to.
 */
#ifndef RAW_FABRIC_H_INCLUDED
#define RAW_FABRIC_H_INCLUDED

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdint.h>

/* Where a peer's buffer is, as RMA needs it. Both ends run the same binary on one machine. */
typedef struct {
    uint64_t address;
    uint64_t key;
} raw_target_t;

typedef struct {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *events;
    struct fid_pep *listener;
    struct fid_ep *endpoint;
    struct fid_cq *send_queue;
    struct fid_cq *receive_queue;
    struct fid_mr *region;
    unsigned char *buffer;      /* registered: sent from the first half, received in the second */
    size_t half;
    raw_target_t mine;          /* the receiving half, for the peer's writes */
    raw_target_t peer;          /* set by the caller */
    uint64_t sends_done;
    uint64_t receives_done;
} raw_t;

/* Passive side: listens on `address` with a free port, which it returns. */
uint16_t raw_listen(raw_t * raw, const char *provider, const char *address);

/* Passive side: waits for one connection; `half` bytes can be sent and received at once. */
void raw_accept(raw_t * raw, size_t half);

/* Active side. */
void raw_connect(raw_t * raw, const char *provider, const char *address, uint16_t port,
                 size_t half);

void raw_close(raw_t * raw);

/* Messages of `size` bytes from and to the two halves of the buffer. */
void raw_post_receive(raw_t * raw, size_t size);
void raw_post_send(raw_t * raw, size_t size);
/* As fi_pingpong does: inject where the provider takes the size. Waits until the data has left. */
void raw_send_and_wait(raw_t * raw, size_t size);
/* RMA into the peer's buffer; `last` raises a completion there. */
void raw_post_write(raw_t * raw, size_t size, int last);
/* What a peer must post for each raw_post_write with `last`: nothing but on providers that ask. */
void raw_post_write_notice(raw_t * raw);

void raw_wait_sends(raw_t * raw, uint64_t count);
void raw_wait_receives(raw_t * raw, uint64_t count);

#endif /* RAW_FABRIC_H_INCLUDED */
