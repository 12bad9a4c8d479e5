/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_sleep.c: a process that waits leaves its processor to others and sleeps until something comes for it.
 *
 * sched_yield(2) lets others run, but the process stays runnable: with more processes than processors the one for
 * which a message has come waits until all that have none have had their turn. A process that sleeps is out of the way
 * and is woken by the message itself.
 *
 * By default a process sleeps only while more processes are runnable than there are processors: to be woken takes tens
 * of microseconds, and ranks that are asleep for long, or have ended, need no room. While it sleeps it looks at each
 * sleep how many are runnable. When there was room for all, many times running, it spins, and looks again every 100 us.
 * When the room was gone soon (ranks that wake each other show no crowd while they sleep), it asks for twice as many.
 *
 * MPICH does not say whether a round of progress belongs to a call that waits or to MPI_Test. Rounds that follow each
 * other at once are taken for waiting: a program that computes between its tests must not be kept from it.
 */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"
#include "bufenlarge_progress.h"
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* One sleep, at most: progress has other work that nobody announces, such as queries of generalized requests. */
#define SLEEP_US_MAX 1000u
#define AUTO_US 5u
/* Rounds that wait take no longer than this, each. */
#define WAITING_ROUND_US 4u

#define LOOK_US 100u
#define SOON_US 100000u
#define LOOKS_MIN 32u
#define LOOKS_MAX 4096u

/* Whether there is room to spin. A process that may sleep has one VCI and one thread. */
static struct {
    int loadavg;                /* descriptor of /proc/loadavg; -1: always sleep */
    long processors;
    bool spins;
    unsigned looks;             /* running that showed room */
    unsigned looks_wanted;      /* before it spins */
    uint64_t since_us;          /* it spins */
    uint64_t looked_us;
} room = { .loadavg = -1 };

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000u + (uint64_t) now.tv_nsec / 1000u;
}

/* The fourth field is "runnable/all", of the whole machine, this process included. */
static bool is_crowded(void)
{
    char text[80];
    const ssize_t bytes = pread(room.loadavg, text, sizeof(text) - 1, 0);
    char *slash;
    if (bytes <= 0)
        return true;
    text[bytes] = '\0';
    slash = strchr(text, '/');
    while (slash != NULL && slash > text && slash[-1] != ' ')
        slash--;
    return slash == NULL || atol(slash) > room.processors;
}

static bool has_room(uint64_t now)
{
    if (room.loadavg < 0)
        return false;
    if (!room.spins) {
        room.looks = is_crowded() ? 0 : room.looks + 1;
        room.spins = room.looks >= room.looks_wanted;
        room.since_us = room.looked_us = now;
    } else if (now - room.looked_us >= LOOK_US) {
        room.looked_us = now;
        room.spins = !is_crowded();
        if (!room.spins) {
            const bool soon = now - room.since_us < SOON_US;
            room.looks_wanted = !soon ? LOOKS_MIN : MPL_MIN(2 * room.looks_wanted, LOOKS_MAX);
            room.looks = 0;
        }
    }
    return room.spins;
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
    if (vci->sleep_after_us > 0 && knobs->sleep_auto && room.loadavg < 0) {
        room.loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
        room.processors = processors;
        room.looks_wanted = LOOKS_MIN;
    }
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
    } else if (has_room(now)) {
        return;
    } else if (bufenlarge_context_sleep(vci->context, SLEEP_US_MAX)) {
        vci->empty_since_us = now_us() - vci->sleep_after_us;   /* another round without an event sleeps again */
    } else if (vci->yield_after > 0) {
        sched_yield();
    }
}
