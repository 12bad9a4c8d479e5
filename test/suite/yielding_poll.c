/* SPDX-License-Identifier: MIT */
/*
 * yielding_poll.c: tools/mpich-suite preloads it where it runs the suite on ch4:ofi. Processes of ch4:ofi spin in calls
 * of epoll_wait and poll that do not wait. When there are more processes than processors, a process without work keeps
 * a processor from one that has work (10 processes on 2 processors: a test of one second takes a minute, and counts as
 * hanging). With this file such a call yields the processor when nothing has arrived. MPI's behaviour does not change.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>

static int yield_if_idle(int ready, int timeout)
{
    if (ready == 0 && timeout == 0)
        sched_yield();
    return ready;
}

int epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
    int (*next) (int, struct epoll_event *, int, int);
    *(void **) &next = dlsym(RTLD_NEXT, "epoll_wait");
    return yield_if_idle(next(fd, events, room, timeout), timeout);
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    int (*next) (struct pollfd *, nfds_t, int);
    *(void **) &next = dlsym(RTLD_NEXT, "poll");
    return yield_if_idle(next(fds, count, timeout), timeout);
}
