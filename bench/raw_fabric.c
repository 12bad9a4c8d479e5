/* SPDX-License-Identifier: MIT */
#include "raw_fabric.h"

#include <netinet/in.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_common.h"

#define CONNECT_SECONDS_MAX 20

/* Any value: the key is chosen by the caller where the provider does not choose it. */
#define REGION_KEY 1

static void fail(const char *call, long code)
{
    fprintf(stderr, "raw provider: %s: %s\n", call, fi_strerror((int) labs(code)));
    exit(1);
}

static void check(const char *call, long code)
{
    if (code != 0)
        fail(call, code);
}

static struct fi_info *query(const char *provider, const char *node, const char *service,
                             uint64_t flags)
{
    struct fi_info *hints = fi_allocinfo(), *info = NULL;

    if (hints == NULL)
        fail("fi_allocinfo", FI_ENOMEM);
    hints->ep_attr->type = FI_EP_MSG;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_RX_CQ_DATA;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = strdup(provider);
    check("fi_getinfo", fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), node, service,
                                   flags, hints, &info));
    fi_freeinfo(hints);
    return info;
}

static void open_fabric(raw_t * raw)
{
    struct fi_eq_attr attributes = {.wait_obj = FI_WAIT_UNSPEC };

    check("fi_fabric", fi_fabric(raw->info->fabric_attr, &raw->fabric, NULL));
    check("fi_eq_open", fi_eq_open(raw->fabric, &attributes, &raw->events, NULL));
}

static void register_buffer(raw_t * raw, size_t half)
{
    int virtual_addresses = (raw->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;

    half = (half + 4095) & ~(size_t) 4095;
    raw->half = half;
    raw->buffer = bench_buffer(2 * half);
    check("fi_mr_reg", fi_mr_reg(raw->domain, raw->buffer, 2 * half,
                                 FI_SEND | FI_RECV | FI_WRITE | FI_REMOTE_WRITE, 0, REGION_KEY, 0,
                                 &raw->region, NULL));
    raw->mine.address = (virtual_addresses ? (uintptr_t) raw->buffer : 0) + half;
    raw->mine.key = fi_mr_key(raw->region);
}

static void open_endpoint(raw_t * raw, size_t half)
{
    struct fi_cq_attr attributes = {.format = FI_CQ_FORMAT_CONTEXT,.wait_obj = FI_WAIT_NONE };

    check("fi_domain", fi_domain(raw->fabric, raw->info, &raw->domain, NULL));
    register_buffer(raw, half);
    attributes.size = raw->info->tx_attr->size;
    check("fi_cq_open", fi_cq_open(raw->domain, &attributes, &raw->send_queue, NULL));
    attributes.size = raw->info->rx_attr->size;
    check("fi_cq_open", fi_cq_open(raw->domain, &attributes, &raw->receive_queue, NULL));
    check("fi_endpoint", fi_endpoint(raw->domain, raw->info, &raw->endpoint, NULL));
    check("fi_ep_bind", fi_ep_bind(raw->endpoint, &raw->events->fid, 0));
    check("fi_ep_bind", fi_ep_bind(raw->endpoint, &raw->send_queue->fid, FI_TRANSMIT));
    check("fi_ep_bind", fi_ep_bind(raw->endpoint, &raw->receive_queue->fid, FI_RECV));
    check("fi_enable", fi_enable(raw->endpoint));
}

static struct fi_info *wait_event(raw_t * raw, uint32_t wanted)
{
    struct fi_eq_cm_entry entry;
    struct fi_eq_err_entry error = { 0 };
    double deadline = bench_now() + CONNECT_SECONDS_MAX;
    uint32_t event = 0;
    ssize_t got;

    do {
        got = fi_eq_read(raw->events, &event, &entry, sizeof(entry), 0);
        if (got == -FI_EAVAIL) {
            (void) fi_eq_readerr(raw->events, &error, 0);
            fail("connection", error.err);
        }
        if (bench_now() > deadline)
            fail("connection", FI_ETIMEDOUT);
    } while (got == -FI_EAGAIN);
    if (got < 0)
        fail("fi_eq_read", got);
    if (event != wanted)
        fail("connection: unexpected event", FI_EOTHER);
    return entry.info;
}

uint16_t raw_listen(raw_t * raw, const char *provider, const char *address)
{
    struct sockaddr_in name;
    size_t length = sizeof(name);

    raw->info = query(provider, address, "0", FI_SOURCE);
    open_fabric(raw);
    check("fi_passive_ep", fi_passive_ep(raw->fabric, raw->info, &raw->listener, NULL));
    check("fi_pep_bind", fi_pep_bind(raw->listener, &raw->events->fid, 0));
    check("fi_listen", fi_listen(raw->listener));
    check("fi_getname", fi_getname(&raw->listener->fid, &name, &length));
    return ntohs(name.sin_port);
}

void raw_accept(raw_t * raw, size_t half)
{
    struct fi_info *request = wait_event(raw, FI_CONNREQ);

    fi_freeinfo(raw->info);
    raw->info = request;
    open_endpoint(raw, half);
    check("fi_accept", fi_accept(raw->endpoint, NULL, 0));
    (void) wait_event(raw, FI_CONNECTED);
}

void raw_connect(raw_t * raw, const char *provider, const char *address, uint16_t port, size_t half)
{
    char service[8];

    snprintf(service, sizeof(service), "%u", (unsigned) port);
    raw->info = query(provider, address, service, 0);
    open_fabric(raw);
    open_endpoint(raw, half);
    check("fi_connect", fi_connect(raw->endpoint, raw->info->dest_addr, NULL, 0));
    (void) wait_event(raw, FI_CONNECTED);
}

void raw_close(raw_t * raw)
{
    (void) fi_shutdown(raw->endpoint, 0);
    check("fi_close", fi_close(&raw->endpoint->fid));
    check("fi_close", fi_close(&raw->region->fid));
    check("fi_close", fi_close(&raw->send_queue->fid));
    check("fi_close", fi_close(&raw->receive_queue->fid));
    check("fi_close", fi_close(&raw->domain->fid));
    if (raw->listener != NULL)
        check("fi_close", fi_close(&raw->listener->fid));
    check("fi_close", fi_close(&raw->events->fid));
    check("fi_close", fi_close(&raw->fabric->fid));
    fi_freeinfo(raw->info);
    free(raw->buffer);
}

static void poll_queue(struct fid_cq *queue, uint64_t * done)
{
    struct fi_cq_entry entries[BENCH_WINDOW];
    struct fi_cq_err_entry error = { 0 };
    ssize_t got = fi_cq_read(queue, entries, BENCH_WINDOW);

    if (got > 0) {
        *done += (uint64_t) got;
    } else if (got == -FI_EAVAIL) {
        (void) fi_cq_readerr(queue, &error, 0);
        fail("completion", error.err);
    } else if (got != -FI_EAGAIN) {
        fail("fi_cq_read", got);
    }
}

void raw_wait_sends(raw_t * raw, uint64_t count)
{
    while (raw->sends_done < count)
        poll_queue(raw->send_queue, &raw->sends_done);
    raw->sends_done -= count;
}

void raw_wait_receives(raw_t * raw, uint64_t count)
{
    while (raw->receives_done < count)
        poll_queue(raw->receive_queue, &raw->receives_done);
    raw->receives_done -= count;
}

/* True: posted, or failed for good. A full queue is emptied before the next try. */
static int posted(raw_t * raw, const char *call, ssize_t code)
{
    if (code == -FI_EAGAIN) {
        poll_queue(raw->send_queue, &raw->sends_done);
        return 0;
    }
    check(call, code);
    return 1;
}

void raw_post_receive(raw_t * raw, size_t size)
{
    while (!posted(raw, "fi_recv", fi_recv(raw->endpoint, raw->buffer + raw->half, size,
                                           fi_mr_desc(raw->region), 0, NULL)));
}

void raw_post_send(raw_t * raw, size_t size)
{
    while (!posted(raw, "fi_send", fi_send(raw->endpoint, raw->buffer, size,
                                           fi_mr_desc(raw->region), 0, NULL)));
}

void raw_send_and_wait(raw_t * raw, size_t size)
{
    if (size <= raw->info->tx_attr->inject_size) {
        while (!posted(raw, "fi_inject", fi_inject(raw->endpoint, raw->buffer, size, 0)));
        return;
    }
    raw_post_send(raw, size);
    raw_wait_sends(raw, 1);
}

void raw_post_write(raw_t * raw, size_t size, int last)
{
    void *descriptor = fi_mr_desc(raw->region);

    while (last && !posted(raw, "fi_writedata",
                           fi_writedata(raw->endpoint, raw->buffer, size, descriptor, 0, 0,
                                        raw->peer.address, raw->peer.key, NULL)));
    while (!last && !posted(raw, "fi_write",
                            fi_write(raw->endpoint, raw->buffer, size, descriptor, 0,
                                     raw->peer.address, raw->peer.key, NULL)));
}

void raw_post_write_notice(raw_t * raw)
{
    if (((raw->info->mode | raw->info->rx_attr->mode) & FI_RX_CQ_DATA) != 0)
        raw_post_receive(raw, 0);
}
