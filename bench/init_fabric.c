/* SPDX-License-Identifier: MIT */
/* init_fabric.c: prints how many milliseconds the first calls of libfabric take, which ask for verbs, then for tcp, and
 * the processor time of them. */
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e3 + (double) now.tv_nsec * 1e-6;
}

/* Of this process, in the system's name too. */
static double processor_ms(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double) (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
        (double) (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-3;
}

static int ask(const char *provider)
{
    struct fi_info *hints = fi_allocinfo(), *offers = NULL;
    int code;
    if (hints == NULL)
        return -FI_ENOMEM;
    hints->fabric_attr->prov_name = strdup(provider);
    hints->ep_attr->type = FI_EP_MSG;
    code = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &offers);
    if (code == 0)
        fi_freeinfo(offers);
    fi_freeinfo(hints);
    return code;
}

int main(void)
{
    const double begin = now_ms(), processor_begin = processor_ms();
    int code;
    ask("verbs"); /* a machine need not have it */
    code = ask("tcp");
    printf("%.3f %.3f\n", now_ms() - begin, processor_ms() - processor_begin);
    if (code != 0)
        fprintf(stderr, "init_fabric: libfabric offers no tcp: %s\n", fi_strerror(-code));
    return code == 0 ? 0 : 1;
}
