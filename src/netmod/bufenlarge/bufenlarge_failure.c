/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_failure.c: which processes have failed, in the order in which this process has learned it. A VCI that
 * loses a process notes it here, and the others give it up, too: each has a connection of its own.
 *
 * A process learns of a failure by its own connection, or from the process manager: where that lets a job live on
 * (mpiexec -disable-auto-cleanup) Hydra sends a signal and keeps a list. The signal may come before the list has the
 * process, so the list is read again for a while.
 */
#include "mpidimpl.h"
#include "bufenlarge_events.h"
#include "bufenlarge_failure.h"
#include <pthread.h>

/* How often what waits is looked through, while there are failed processes or revoked communicators, and otherwise. */
#define LOOK_SECONDS 0.002
#define OTHER_JOBS_LOOK_SECONDS 0.1
/* When the process manager's list is read, after its signal. What the process had sent through shared memory is
 * received before the first: MPICH takes one message of it for each time that it asks this netmod, and a process that
 * computes, or does not get a processor, may be late. */
static const double ask_after[] = { 0.02, 0.1, 0.5, 1.0, 2.0 };
#define POLLS_BEFORE_ASKING 64
/* So often it was asked when the answer is taken for what the signal told of. */
#define ASKED_ENOUGH 2
/* Stands for the number of a process that is forgotten. */
#define FORGOTTEN UINT32_MAX
#define ASK_TIMES ((int) (sizeof(ask_after) / sizeof(ask_after[0])))

typedef struct {
    uint32_t number;
    int8_t status;              /* a bufenlarge_status_t */
    char *text;
} failure_t;

/* Guarded by the mutex; `count` and `first` are read without it, since they only grow. A failure keeps its place, by
 * which communicators know what they have acknowledged. The list begins at the place `first`: all before that are
 * forgotten. */
static struct {
    failure_t *list;
    MPL_atomic_int_t count;
    MPL_atomic_int_t first;
    int room;
    pthread_mutex_t mutex;
} failures = {.mutex = PTHREAD_MUTEX_INITIALIZER };

int MPIDI_BUFENLARGE_failures;
int MPIDI_BUFENLARGE_own_failures;

/* What is known of the process manager's signals; guarded by the first VCI's lock. */
static struct {
    int signals;                /* that were answered */
    int asked;                  /* times since the last of them */
    int polls;                  /* times that progress has come by since */
    MPL_time_t since;
} manager;

int MPIDI_BUFENLARGE_failure_count(void)
{
    return MPL_atomic_acquire_load_int(&failures.count);
}

static int first_place(void)
{
    return MPL_atomic_acquire_load_int(&failures.first);
}

static failure_t failure_at(int i)
{
    failure_t failure = {.number = FORGOTTEN };
    pthread_mutex_lock(&failures.mutex);
    const int first = MPL_atomic_relaxed_load_int(&failures.first);
    if (i >= first)
        failure = failures.list[i - first];
    pthread_mutex_unlock(&failures.mutex);
    return failure;
}

bool MPIDI_BUFENLARGE_has_failed(uint32_t number)
{
    bool found = false;
    if (MPIDI_BUFENLARGE_failure_count() == first_place())
        return false;
    pthread_mutex_lock(&failures.mutex);
    const int places = MPL_atomic_relaxed_load_int(&failures.count) - first_place();
    for (int i = 0; i < places && !found; i++)
        found = failures.list[i].number == number;
    pthread_mutex_unlock(&failures.mutex);
    return found;
}

static bool watches_closely;    /* a communicator was revoked, or the process manager has sent a signal */

void MPIDI_BUFENLARGE_failure_watch(bool closely)
{
    watches_closely |= closely;
    for (int i = 0; i < MPIDI_BUFENLARGE_VCIS; i++)
        MPL_atomic_release_store_int(&MPIDI_BUFENLARGE_vci(i)->watches, 1);
}

/* Returns whether it is new; does nothing when it is on the list. */
static bool add(uint32_t number, int8_t status, const char *text)
{
    const bool is_new = !MPIDI_BUFENLARGE_has_failed(number);
    pthread_mutex_lock(&failures.mutex);
    const int count = MPL_atomic_relaxed_load_int(&failures.count);
    const int place = count - MPL_atomic_relaxed_load_int(&failures.first);
    if (is_new && place == failures.room) {
        failures.room = 2 * place + 16;
        failures.list = MPL_realloc(failures.list, (size_t) failures.room * sizeof(failure_t), MPL_MEM_ADDRESS);
        MPIR_Assert(failures.list != NULL);
    }
    if (is_new) {
        failures.list[place] = (failure_t) {.number = number,.status = status,.text = MPL_strdup(text) };
        MPL_atomic_release_store_int(&failures.count, count + 1);
        MPIDI_BUFENLARGE_failures++;
        MPIDI_BUFENLARGE_own_failures += !MPIDI_BUFENLARGE_is_other_job(number);
    }
    pthread_mutex_unlock(&failures.mutex);
    if (is_new)
        MPIDI_BUFENLARGE_event_lost(number, status);
    return is_new;
}

/* Takes the places off the front of the list that are forgotten. */
static void trim(void)
{
    const int first = MPL_atomic_relaxed_load_int(&failures.first);
    const int places = MPL_atomic_relaxed_load_int(&failures.count) - first;
    int forgotten = 0;
    while (forgotten < places && failures.list[forgotten].number == FORGOTTEN)
        forgotten++;
    if (forgotten == 0)
        return;
    memmove(failures.list, failures.list + forgotten, (size_t) (places - forgotten) * sizeof(failure_t));
    MPL_atomic_release_store_int(&failures.first, first + forgotten);
}

/* With the first VCI's lock, without which nobody reads the text of a process of another job. */
void MPIDI_BUFENLARGE_failure_forget(uint32_t number)
{
    pthread_mutex_lock(&failures.mutex);
    const int first = MPL_atomic_relaxed_load_int(&failures.first);
    for (int i = 0; i < MPL_atomic_relaxed_load_int(&failures.count) - first; i++) {
        if (failures.list[i].number != number)
            continue;
        failures.list[i].number = FORGOTTEN;
        MPL_free(failures.list[i].text);
        failures.list[i].text = NULL;
        MPIDI_BUFENLARGE_failures--;
    }
    trim();
    pthread_mutex_unlock(&failures.mutex);
}

void MPIDI_BUFENLARGE_failure_note(MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_peer_t * peer)
{
    vci->looked = false;
    if (add(peer->number, peer->lost_status, peer->lost_text))
        MPIDI_BUFENLARGE_peer_warn(peer);
    MPIDI_BUFENLARGE_failure_watch(false);
}

/* Returns whether one of the failures from the i-th on concerns a process that receives in this communicator may come
 * from. */
static bool has_failed_since(MPIR_Comm * comm, int i)
{
    const int count = MPIDI_BUFENLARGE_failure_count();
    for (i = MPL_MAX(i, first_place()); i < count; i++) {
        const uint32_t number = failure_at(i).number;
        for (int rank = 0; rank < comm->remote_size; rank++) {
            if (MPIDI_BUFENLARGE_number_of(comm, rank) == number)
                return true;
        }
    }
    return false;
}

bool MPIDI_BUFENLARGE_anysource_enabled(MPIR_Comm * comm)
{
    return !has_failed_since(comm, MPIDI_COMM(comm, netmod.bufenlarge).acknowledged);
}

void MPIDI_BUFENLARGE_failed_members(MPIR_Comm * comm, int count, bool * is_failed)
{
    const int size = comm ? comm->remote_size : MPIR_Process.size;
    memset(is_failed, 0, (size_t) size * sizeof(bool));
    for (int i = first_place(); i < count; i++) {
        const uint32_t number = failure_at(i).number;
        for (int rank = 0; rank < size; rank++)
            is_failed[rank] |= (comm ? MPIDI_BUFENLARGE_number_of(comm, rank) : (uint32_t) rank) == number;
    }
}

/* -- the process manager -- */

void MPIDI_BUFENLARGE_failure_signal(void)
{
    MPIDI_BUFENLARGE_failure_watch(true);
}

/* Takes the process manager's list: ranks of MPI_COMM_WORLD, separated by commas. */
static void take_list(const char *list)
{
    for (const char *at = list; *at != '\0';) {
        char *end;
        const long rank = strtol(at, &end, 10);
        if (end == at)
            return;
        if (rank >= 0 && rank < MPIR_Process.size && rank != MPIR_Process.rank)
            add((uint32_t) rank, BUFENLARGE_ERR_PEER, "the process manager says that it has ended");
        at = *end == ',' ? end + 1 : end;
    }
    if (MPIDI_BUFENLARGE_failure_count() > 0)
        MPIDI_BUFENLARGE_failure_watch(false);
}

static void ask(void)
{
    char *list = MPIDI_BUFENLARGE_failed_list();
    if (list != NULL)
        take_list(list);
    MPL_free(list);
}

bool MPIDI_BUFENLARGE_failure_is_to_be_asked(void)
{
    return MPIDI_global.sigusr1_count != manager.signals || (manager.signals > 0 && manager.asked < ASKED_ENOUGH);
}

/* Not while another thread waits for the process manager. */
static void ask_when_due(void)
{
    const int signals = MPIDI_global.sigusr1_count;
    if (signals == 0 || MPIDI_BUFENLARGE_global.waits_for_manager)
        return;
    if (signals != manager.signals) {
        manager.signals = signals;
        manager.asked = 0;
        manager.polls = 0;
        MPL_wtime(&manager.since);
    } else if (manager.asked < ASK_TIMES && ++manager.polls > POLLS_BEFORE_ASKING
               && MPIDI_BUFENLARGE_seconds_since(&manager.since) >= ask_after[manager.asked]) {
        manager.asked++;
        ask();
    }
}

/* -- progress -- */

static bool is_connected(const MPIDI_BUFENLARGE_vci_t * vci, uint32_t number)
{
    bufenlarge_channel_stats_t stats;
    return bufenlarge_context_channel_stats(vci->context, number, &stats) && stats.connected;
}

/* Gives up what another VCI, or the process manager, says has failed. Where there is a connection its end will tell,
 * when what came before has been read. */
static void learn(MPIDI_BUFENLARGE_vci_t * vci)
{
    const int count = MPIDI_BUFENLARGE_failure_count();
    while (vci->failures_known < count) {
        const failure_t failure = failure_at(vci->failures_known++);
        const bool is_own = vci == MPIDI_BUFENLARGE_main_vci() || !MPIDI_BUFENLARGE_is_other_job(failure.number);
        if (failure.number != FORGOTTEN && is_own && !is_connected(vci, failure.number))
            MPIDI_BUFENLARGE_peer_lost(vci, failure.number, failure.status, failure.text);
        vci->looked = false;
    }
}

bool MPIDI_BUFENLARGE_failure_progress(MPIDI_BUFENLARGE_vci_t * vci)
{
    if (vci == MPIDI_BUFENLARGE_main_vci())
        ask_when_due();
    learn(vci);
    const double pause = watches_closely || MPIDI_BUFENLARGE_failures > 0 ? LOOK_SECONDS : OTHER_JOBS_LOOK_SECONDS;
    if (vci->looked && MPIDI_BUFENLARGE_seconds_since(&vci->looked_at) < pause)
        return false;
    vci->looked = true;
    MPL_wtime(&vci->looked_at);
    return true;
}

void MPIDI_BUFENLARGE_failures_free(void)
{
    const int places = MPL_atomic_relaxed_load_int(&failures.count) - MPL_atomic_relaxed_load_int(&failures.first);
    for (int i = 0; i < places; i++)
        MPL_free(failures.list[i].text);
    MPL_free(failures.list);
    failures.list = NULL;
    failures.room = 0;
    MPL_atomic_store_int(&failures.count, 0);
    MPL_atomic_store_int(&failures.first, 0);
    memset(&manager, 0, sizeof(manager));
    watches_closely = false;
}
