/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_sleep.c: a process that waits leaves its processor to others and sleeps until something comes for it.
 *
 * sched_yield(2) lets others run, and costs less than to sleep and be woken: ranks that wait for each other take turns.
 * But the process stays runnable. Where others run for long, the one for which a message has come waits until all of
 * them have had their slices. A process that sleeps is out of the way, and the message itself wakes it, before them.
 *
 * By default a process yields, and times each yield. One that takes long shows that others keep the processor, ranks
 * that compute or another program: for a while the process sleeps. Then it yields again, and when that soon takes long
 * again, the while doubles: of each, one slice is lost.
 *
 * MPICH does not say whether a round of progress belongs to a call that waits or to MPI_Test. Rounds that follow each
 * other at once are taken for waiting: a program that computes between its tests must not be kept from it.
 */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"
#include "bufenlarge_progress.h"
#include <time.h>
#include <unistd.h>

/* One sleep, at most: progress has other work that nobody announces, such as queries of generalized requests. */
#define SLEEP_US_MAX 1000u
#define AUTO_US 5u
/* Rounds that wait take no longer than this, each. */
#define WAITING_ROUND_US 4u

/* A turn of a rank that does not compute takes less; a yield lasts until the others have had theirs. */
#define LONG_TURN_US 200u
#define WHILE_US_MIN 10000u
#define WHILE_US_MAX 320000u
/* Rounds without an event, by default, before it yields. */
#define YIELD_AFTER_CROWDED 4u
/* A yield that takes less gave way to nobody. */
#define ALONE_NS 2000u

/* Whether this process yields or sleeps now. One that may sleep has one VCI and one thread. */
static struct {
    bool chooses;               /* otherwise it always sleeps */
    bool sleeps;
    bool alone;                 /* the last yield returned at once */
    uint64_t long_us;           /* a yield that takes as much is long */
    uint64_t while_us;          /* the last */
    uint64_t ends_us;           /* of the last while */
} waiting;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static uint64_t now_us(void)
{
    return now_ns() / 1000u;
}

static void yield_or_begin_to_sleep(MPIDI_BUFENLARGE_vci_t * vci)
{
    const uint64_t begin_ns = now_ns();
    sched_yield();
    const uint64_t end_ns = now_ns(), begin = begin_ns / 1000u, end = end_ns / 1000u;
    waiting.alone = MPIDI_BUFENLARGE_global.knobs.yield_auto && end_ns - begin_ns < ALONE_NS;
    if (waiting.alone)
        vci->rounds_empty = 0;
    if (end - begin < waiting.long_us)
        return;
    const bool soon = begin - waiting.ends_us < waiting.while_us;
    waiting.while_us = soon ? MPL_MIN(2 * waiting.while_us, WHILE_US_MAX) : WHILE_US_MIN;
    waiting.ends_us = end + waiting.while_us;
    waiting.sleeps = true;
}

/* Other sources of events, which do not wake the process, are the other threads, VCIs and shared memory. */
void MPIDI_BUFENLARGE_sleep_init(MPIDI_BUFENLARGE_vci_t * vci)
{
    const MPIDI_BUFENLARGE_knobs_t *knobs = &MPIDI_BUFENLARGE_global.knobs;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN), ranks = bufenlarge_context_local_processes(vci->context);
    const bool crowded = bufenlarge_context_shares_processors(vci->context);
    if (knobs->yield_auto && crowded)
        vci->yield_after = YIELD_AFTER_CROWDED;
    vci->sleep_after_us = knobs->sleep_auto && crowded ? AUTO_US : knobs->sleep_after_us;
    if (MPIDI_BUFENLARGE_WANTED_VCIS > 1 || MPIR_Process.local_size > 1)
        vci->sleep_after_us = 0;
    if (vci->sleep_after_us > 0)
        (void) bufenlarge_context_enable_sleep(vci->context);   /* or each sleep is short */
    waiting.chooses = knobs->sleep_auto && vci->yield_after > 0;
    waiting.long_us = LONG_TURN_US * (uint64_t) ((ranks + processors - 1) / processors);
}

void MPIDI_BUFENLARGE_yield_or_sleep(MPIDI_BUFENLARGE_vci_t * vci)
{
    if (waiting.chooses && !waiting.sleeps) {
        if (vci->rounds_empty < (waiting.alone ? MPIDI_BUFENLARGE_global.knobs.yield_after : vci->yield_after))
            vci->rounds_empty++;
        else
            yield_or_begin_to_sleep(vci);
        return;
    }
    const uint64_t now = now_us();
    if (vci->rounds_empty++ == 0)
        vci->empty_since_us = now;
    const uint64_t empty_us = now - vci->empty_since_us;
    if (empty_us < vci->sleep_after_us)
        return;
    waiting.sleeps = now < waiting.ends_us;
    if (empty_us > vci->sleep_after_us + (uint64_t) vci->rounds_empty * WAITING_ROUND_US) {
        vci->rounds_empty = 0;  /* it computes between the rounds */
    } else if (bufenlarge_context_sleep(vci->context, SLEEP_US_MAX)) {
        vci->empty_since_us = now_us() - vci->sleep_after_us;   /* another round without an event sleeps again */
    } else if (vci->yield_after > 0) {
        sched_yield();
    }
}
