/* SPDX-License-Identifier: MIT */
/*
 * adapter_cost.c: a library for LD_PRELOAD that makes each memory registration of libfabric take as long as on a real
 * adapter, also on the tcp provider, where it is an entry in a table: BENCH_REGISTRATION_NS nanoseconds and
 * BENCH_PAGE_NS for each page, while the processor is busy. With each at 0 it changes nothing but the path.
 *
 * libfabric has no call of its own for fi_domain(3) and fi_mr_reg(3): both are inline and go through tables of the
 * provider. So fi_fabric(3) puts a table here in front of the fabric's, whose fi_domain() does so with the domain's.
 * One provider at a time: a process of the benches opens one domain, whose tables do not change.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct fi_ops_fabric fabric_operations;
static struct fi_ops_mr memory_operations;
static int (*provider_domain)(struct fid_fabric *, struct fi_info *, struct fid_domain **, void *);
static int (*provider_register)(struct fid *, const void *, size_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                struct fid_mr **, void *);

static long long number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text == NULL ? 0 : atoll(text);
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int costly_register(struct fid *domain, const void *memory, size_t bytes, uint64_t access, uint64_t offset,
                           uint64_t key, uint64_t flags, struct fid_mr **region, void *context)
{
    const size_t page = (size_t) sysconf(_SC_PAGESIZE);
    const size_t pages = ((size_t) memory % page + bytes + page - 1) / page;
    const long long until = now_ns() + number_of("BENCH_REGISTRATION_NS") +
        (long long) pages *number_of("BENCH_PAGE_NS");
    const int code = provider_register(domain, memory, bytes, access, offset, key, flags, region, context);
    while (now_ns() < until)
        continue;
    return code;
}

static int costly_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context)
{
    const int code = provider_domain(fabric, info, domain, context);
    if (code == 0) {
        memory_operations = *(*domain)->mr;
        provider_register = memory_operations.reg;
        memory_operations.reg = costly_register;
        (*domain)->mr = &memory_operations;
    }
    return code;
}

int fi_fabric(struct fi_fabric_attr *attributes, struct fid_fabric **fabric, void *context)
{
    int (*next) (struct fi_fabric_attr *, struct fid_fabric **, void *) =
        (int (*)(struct fi_fabric_attr *, struct fid_fabric **, void *)) dlsym(RTLD_NEXT, "fi_fabric");
    const int code = next == NULL ? -1 : next(attributes, fabric, context);
    if (code == 0) {
        fabric_operations = *(*fabric)->ops;
        provider_domain = fabric_operations.domain;
        fabric_operations.domain = costly_domain;
        (*fabric)->ops = &fabric_operations;
    }
    return code;
}
