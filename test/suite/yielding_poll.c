/* SPDX-License-Identifier: MIT */
/*
 * yielding_poll.c: preloaded where MPICH's suite is run on ch4:ofi. Its processes spin in calls of epoll_wait and poll that
 * do not wait, so with more of them than processors one that has nothing to do holds the processor of one that
 * has (10 processes on 2 processors: a test of a second takes a minute, and counts as one that hangs). Here such
 * a call offers the processor when nothing has come. What MPI does is the same.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>

static int offer(int ready, int timeout)
{
    if (ready == 0 && timeout == 0)
        sched_yield();
    return ready;
}

int epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
    int (*next) (int, struct epoll_event *, int, int);
    *(void **) &next = dlsym(RTLD_NEXT, "epoll_wait");
    return offer(next(fd, events, room, timeout), timeout);
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    int (*next) (struct pollfd *, nfds_t, int);
    *(void **) &next = dlsym(RTLD_NEXT, "poll");
    return offer(next(fds, count, timeout), timeout);
}
