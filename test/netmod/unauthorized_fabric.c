/* SPDX-License-Identifier: MIT */
/*
 * unauthorized_fabric.c: unauthorized_fabric SECONDS PID...: a process outside the job that speaks libfabric's
 * connection protocol and presents the wrong private data (docs/wire-protocol.md, section 7): none, noise, too
 * little, too much, a hello with the wrong key, and one of another wire version. Each must be refused without a word
 * of private data. Prints "refused N". Exits with 1 when one was accepted, got private data, or got no reply in time.
 */
#include <arpa/inet.h>
#include <bufenlarge.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data_pattern.h"
#include "listeners.h"

enum { PORTS_MAX = 64, HELLO_BYTES = 53, DATA_MAX = 256, REPLY_SECONDS = 10, ROUNDS_MAX = 20 };

enum lie { NOTHING, NOISE, NOISE_MOST, HELLO_CUT, WRONG_KEY, OTHER_VERSION, RANK_OUT_OF_RANGE, LIES };

static const char *const lie_names[] = { "no private data",     "53 bytes of noise",
                                         "256 bytes of noise",  "a hello cut to 52 bytes",
                                         "the wrong key",       "another wire version",
                                         "a rank out of range" };

typedef struct {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
} fabric_t;

static void must(int result, const char *call)
{
    if (result != 0) {
        fprintf(stderr, "unauthorized_fabric: %s: %s\n", call, fi_strerror(-result));
        exit(2);
    }
}

/* A hello as the protocol has it; only the key is guessed. */
static void make_hello(unsigned char *hello, uint64_t key)
{
    const uint32_t slot_bytes = 512, rank = 1;
    const uint16_t slots = 16, attempt = 1;
    pattern_fill(hello, HELLO_BYTES, key);
    hello[0] = 0x42;
    hello[1] = 0x45;
    hello[2] = BUFENLARGE_WIRE_VERSION;
    hello[3] = 0;
    memcpy(hello + 4, &rank, sizeof(rank));
    memcpy(hello + 40, &slot_bytes, sizeof(slot_bytes));
    memcpy(hello + 44, &slots, sizeof(slots));
    memcpy(hello + 46, &attempt, sizeof(attempt));
}

/* Fills `data` and returns how much of it is presented. */
static size_t make_lie(enum lie lie, unsigned char *data, uint64_t key)
{
    const uint32_t rank = 1u << 30;
    make_hello(data, key);
    switch (lie) {
        case NOTHING:
            return 0;
        case NOISE:
            pattern_fill(data, HELLO_BYTES, key);
            break;
        case NOISE_MOST:
            pattern_fill(data, DATA_MAX, key);
            return DATA_MAX;
        case HELLO_CUT:
            return HELLO_BYTES - 1;
        case OTHER_VERSION:
            data[2] = BUFENLARGE_WIRE_VERSION + 1;
            break;
        case RANK_OUT_OF_RANGE:
            memcpy(data + 4, &rank, sizeof(rank));
            break;
        case WRONG_KEY:
        case LIES:
            break;
    }
    return HELLO_BYTES;
}

static fabric_t open_fabric(const struct sockaddr_in *address)
{
    fabric_t fabric = { 0 };
    struct fi_info *hints = fi_allocinfo();
    struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
    struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT };
    char node[INET_ADDRSTRLEN], service[8];
    inet_ntop(AF_INET, &address->sin_addr, node, sizeof(node));
    snprintf(service, sizeof(service), "%u", (unsigned) ntohs(address->sin_port));
    hints->ep_attr->type = FI_EP_MSG;
    hints->caps = FI_MSG;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->fabric_attr->prov_name = strdup("tcp");
    must(fi_getinfo(FI_VERSION(1, 17), node, service, 0, hints, &fabric.info), "fi_getinfo");
    must(fi_fabric(fabric.info->fabric_attr, &fabric.fabric, NULL), "fi_fabric");
    must(fi_domain(fabric.fabric, fabric.info, &fabric.domain, NULL), "fi_domain");
    must(fi_eq_open(fabric.fabric, &eq_attr, &fabric.eq, NULL), "fi_eq_open");
    must(fi_cq_open(fabric.domain, &cq_attr, &fabric.cq, NULL), "fi_cq_open");
    fi_freeinfo(hints);
    return fabric;
}

static void close_fabric(fabric_t *fabric)
{
    fi_close(&fabric->cq->fid);
    fi_close(&fabric->eq->fid);
    fi_close(&fabric->domain->fid);
    fi_close(&fabric->fabric->fid);
    fi_freeinfo(fabric->info);
}

static void complain(enum lie lie, const char *what)
{
    fprintf(stderr, "unauthorized_fabric: %s: %s\n", lie_names[lie], what);
    exit(1);
}

/* Waits for the reply to a connection attempt: it must be a refusal without private data. */
static void await_refusal(const fabric_t *fabric, enum lie lie)
{
    struct {
        struct fi_eq_cm_entry entry;
        unsigned char data[DATA_MAX];
    } event;
    unsigned char data_back[DATA_MAX] = { 0 };
    struct fi_eq_err_entry error = { .err_data = data_back, .err_data_size = sizeof(data_back) };
    uint32_t type;
    ssize_t got = fi_eq_sread(fabric->eq, &type, &event, sizeof(event), REPLY_SECONDS * 1000, 0);
    if (got == -FI_EAGAIN || got == -FI_ETIMEDOUT)
        complain(lie, "expected a refusal, got no reply in 10 s");
    if (got >= 0)
        complain(lie, type == FI_CONNECTED ? "expected a refusal, was accepted"
                                           : "expected a refusal, got another event");
    fi_eq_readerr(fabric->eq, &error, 0);
    if (error.err != FI_ECONNREFUSED && error.err != FI_ECONNRESET)
        complain(lie, fi_strerror(error.err));
    if (error.err_data_size > 0 && error.err_data_size != sizeof(data_back))
        complain(lie, "refused, but with private data");
}

static void try_lie(const fabric_t *fabric, enum lie lie, uint64_t key)
{
    struct fid_ep *endpoint;
    unsigned char data[DATA_MAX];
    size_t bytes = make_lie(lie, data, key);
    must(fi_endpoint(fabric->domain, fabric->info, &endpoint, NULL), "fi_endpoint");
    must(fi_ep_bind(endpoint, &fabric->eq->fid, 0), "fi_ep_bind of the event queue");
    must(fi_ep_bind(endpoint, &fabric->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(endpoint), "fi_enable");
    must(fi_connect(endpoint, fabric->info->dest_addr, bytes ? data : NULL, bytes), "fi_connect");
    await_refusal(fabric, lie);
    fi_close(&endpoint->fid);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: unauthorized_fabric SECONDS PID...\n");
        return 2;
    }
    struct sockaddr_in ports[PORTS_MAX];
    const time_t end = time(NULL) + atoi(argv[1]);
    int refused = 0;
    int port_count = listeners_await((const char *const *) argv + 2, argc - 2, ports, PORTS_MAX,
                                     10);
    for (int round = 0; round < ROUNDS_MAX && (round == 0 || time(NULL) < end); round++) {
        for (int i = 0; i < port_count; i++) {
            fabric_t fabric = open_fabric(&ports[i]);
            for (int lie = 0; lie < LIES; lie++, refused++)
                try_lie(&fabric, (enum lie) lie, pattern_key(0, round, i, lie, 0));
            close_fabric(&fabric);
        }
    }
    printf("refused %d\n", refused);
    return 0;
}
