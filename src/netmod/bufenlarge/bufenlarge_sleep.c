/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_sleep.c: a process that waits leaves its processor to others and sleeps until something comes for it.
 *
 * sched_yield(2) lets others run, but the process stays runnable: with more processes than processors the one for
 * which a message has come waits until all that have none have had their turn. A process that sleeps is out of the way
 * and is woken by the message itself.
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

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000u + (uint64_t) now.tv_nsec / 1000u;
}

/* Other sources of events, which do not wake the process, are the other threads, VCIs and shared memory. */
void MPIDI_BUFENLARGE_sleep_init(MPIDI_BUFENLARGE_vci_t * vci)
{
    const MPIDI_BUFENLARGE_knobs_t *knobs = &MPIDI_BUFENLARGE_global.knobs;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const bool crowded = bufenlarge_context_local_processes(vci->context) > processors;
    vci->sleep_after_us = knobs->sleep_auto && crowded ? AUTO_US : knobs->sleep_after_us;
    if (MPIDI_global.n_vcis > 1 || MPIR_Process.local_size > 1)
        vci->sleep_after_us = 0;
    if (vci->sleep_after_us > 0 && !bufenlarge_context_enable_sleep(vci->context))
        vci->sleep_after_us = 0;
}

void MPIDI_BUFENLARGE_spin_or_sleep(MPIDI_BUFENLARGE_vci_t * vci)
{
    const uint64_t now = now_us();
    if (vci->rounds_empty++ == 0)
        vci->empty_since_us = now;
    const uint64_t empty_us = now - vci->empty_since_us;
    if (empty_us < vci->sleep_after_us)
        return;
    if (empty_us > vci->sleep_after_us + (uint64_t) vci->rounds_empty * WAITING_ROUND_US) {
        vci->rounds_empty = 0;  /* it computes between the rounds */
    } else if (bufenlarge_context_sleep(vci->context, SLEEP_US_MAX)) {
        vci->empty_since_us = now_us() - vci->sleep_after_us;   /* another round without an event sleeps again */
    } else if (vci->yield_after > 0) {
        sched_yield();
    }
}
