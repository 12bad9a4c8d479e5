/* SPDX-License-Identifier: MIT */
/*
 * registration.c: what it costs to register user memory for one transfer, beside what it would cost to copy it.
 *
 *   registration PROVIDER ADDRESS [SIZES [SECONDS]]
 *
 * Lines `bench,size,value,unit`: `register`, fi_mr_reg(3) and fi_close(3) of memory that has been touched; `copy`,
 * memcpy of as much between two buffers. libfabric's own cache of registrations is off, as it is in the library.
 */
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include "bench_common.h"

typedef struct {
    struct fid_domain *domain;
    unsigned char *from, *to;
    int copies;
} cost_t;

static void check(const char *call, int code)
{
    if (code == 0)
        return;
    fprintf(stderr, "%s: %s\n", call, fi_strerror(-code));
    exit(1);
}

static void open_domain(cost_t * cost, const char *provider, const char *address)
{
    struct fi_info *hints = fi_allocinfo(), *info = NULL;
    struct fid_fabric *fabric;

    hints->fabric_attr->prov_name = strdup(provider);
    hints->ep_attr->type = FI_EP_MSG;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_RX_CQ_DATA | FI_CONTEXT;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    check("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), address, NULL, FI_SOURCE, hints, &info));
    check("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
    check("fi_domain", fi_domain(fabric, info, &cost->domain, NULL));
}

static double batch(void *context, size_t size, long count)
{
    cost_t *cost = context;
    double start = bench_now();

    for (long i = 0; i < count; i++) {
        struct fid_mr *region;
        if (cost->copies) {
            memcpy(cost->to, cost->from, size);
            __asm__ volatile ("" : : "r" (cost->to) : "memory");
            continue;
        }
        check("fi_mr_reg", fi_mr_reg(cost->domain, cost->from, size, FI_REMOTE_WRITE, 0, (uint64_t) i + 1, 0,
                                     &region, NULL));
        check("fi_close", fi_close(&region->fid));
    }
    return bench_now() - start;
}

int main(int argc, char **argv)
{
    bench_sizes_t sizes;
    cost_t cost = { 0 };

    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: registration PROVIDER ADDRESS [SIZES [SECONDS]]\n");
        return 2;
    }
    bench_parse_sizes(argc > 3 ? argv[3] : "4096,65536,1048576,4194304", &sizes);
    const double budget = argc > 4 ? bench_parse_seconds(argv[4]) : 0.2;
    setenv("FI_MR_CACHE_MAX_COUNT", "0", 1);
    cost.from = bench_buffer(bench_largest(&sizes));
    cost.to = bench_buffer(bench_largest(&sizes));
    open_domain(&cost, argv[1], argv[2]);
    for (int i = 0; i < 2 * sizes.count; i++) {
        const size_t size = sizes.bytes[i / 2];
        cost.copies = i % 2;
        bench_print(cost.copies ? "copy" : "register", size, 1e6 * bench_measure(batch, &cost, size, budget), "us");
    }
    return 0;
}
