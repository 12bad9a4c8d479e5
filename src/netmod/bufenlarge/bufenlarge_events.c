/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_events.c: growth and loss as events of MPI_T.
 *
 * The library tells of them in the middle of its progress, with the VCI's lock held. A handler that then read a
 * performance variable would take that lock again, and one that read the event would wait for MPI_T's lock, which a
 * thread that reads a variable holds while it waits for the VCI's. So an event is noted, with its time, and handlers
 * are called from a progress hook of MPICH, where the thread holds neither lock; one at a time, in the order in which
 * things happened. They are called within another call of MPI, so they may not make any (MPI_RESTRICTED), and with
 * MPI_THREAD_MULTIPLE it is any thread that calls them (THREAD_SAFE).
 *
 * While no program or tool has a handle of an event nothing is noted, and progress has no hook.
 */
#include "mpidimpl.h"
#include "bufenlarge_events.h"
#include "bufenlarge_event_table.h"

#ifdef HAVE_MPIT_EVENTS
#include <pthread.h>
#include <time.h>

#define CATEGORY "BUFENLARGE"
#define NANOSECONDS 1000000000

typedef unsigned long long element_t;

typedef struct {
#define MEMBER(name, meaning) element_t name;
    MPIDI_BUFENLARGE_RING_ELEMENTS(MEMBER)
} RING_data_t;

typedef struct {
    MPIDI_BUFENLARGE_LOSS_ELEMENTS(MEMBER)
#undef MEMBER
} LOSS_data_t;

enum {
#define NAME(name, data, meaning) name##_event,
    MPIDI_BUFENLARGE_EVENTS(NAME)
#undef NAME
    EVENTS
};

/* What MPI_T says of the elements, which it has no words for. */
#define TEXT(name, meaning) " " #name ": " meaning
static const char RING_text[] = MPIDI_BUFENLARGE_RING_ELEMENTS(TEXT);
static const char LOSS_text[] = MPIDI_BUFENLARGE_LOSS_ELEMENTS(TEXT);
#undef TEXT

typedef struct {
    const char *name, *meaning, *elements_text;
    int elements;
} event_t;

#define ROW(name, data, meaning)                                                    \
    { "bufenlarge_" #name, meaning, data##_text, (int) (sizeof(data##_data_t) / sizeof(element_t)) },
static const event_t events[EVENTS] = { MPIDI_BUFENLARGE_EVENTS(ROW) };
#undef ROW

static int indices[EVENTS];     /* of MPI_T */
static MPL_atomic_int_t leaving;        /* connections end because processes do */

typedef struct noted {
    struct noted *next;
    MPI_Count at;
    int event;
    union {
        RING_data_t ring;
        LOSS_data_t loss;
    } data;
} noted_t;

/* What is still to be told; guarded by the mutex. */
static struct {
    noted_t *first, *last;
    bool is_telling;            /* a thread calls handlers */
    bool has_hook;
    int hook;
    pthread_mutex_t mutex;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER };

/* -- time -- */

/* When the event happened that this thread tells; 0 when it tells none. */
static __thread MPI_Count told_at;

static MPI_Count now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (MPI_Count) time.tv_sec * NANOSECONDS + time.tv_nsec;
}

/* MPI_T asks for the time of an event while its handlers are called. */
static MPI_Count timestamp(void)
{
    return told_at ? told_at : now();
}

/* -- telling -- */

static noted_t *take(void)
{
    noted_t *noted = queue.first;
    if (noted)
        queue.first = noted->next;
    return noted;
}

static void tell(noted_t * noted)
{
    const MPI_T_cb_safety safety = MPIR_IS_THREADED ? MPI_T_CB_REQUIRE_THREAD_SAFE : MPI_T_CB_REQUIRE_MPI_RESTRICTED;
    told_at = noted->at;
    MPIR_T_DO_EVENT(indices[noted->event], safety, &noted->data);
    told_at = 0;
    MPL_free(noted);
}

/* What comes while a handler runs is told after it, by the same thread. */
static void tell_all(void)
{
    pthread_mutex_lock(&queue.mutex);
    if (!queue.is_telling) {
        queue.is_telling = true;
        for (noted_t * noted = take(); noted != NULL; noted = take()) {
            pthread_mutex_unlock(&queue.mutex);
            tell(noted);
            pthread_mutex_lock(&queue.mutex);
        }
        queue.is_telling = false;
        if (queue.has_hook)
            MPIR_Progress_hook_deactivate(queue.hook);
    }
    pthread_mutex_unlock(&queue.mutex);
}

static MPIDI_BUFENLARGE_HOOK(tell_from_progress)
{
    tell_all();
    return MPI_SUCCESS;
}

/* The hook is made for the first event that is noted: each round of progress looks at it from then on. Where MPICH has
 * no room for it all is told in MPI_Finalize. */
static void note(noted_t * noted)
{
    pthread_mutex_lock(&queue.mutex);
    noted->at = now();
    noted->next = NULL;
    if (queue.first)
        queue.last->next = noted;
    else
        queue.first = noted;
    queue.last = noted;
    if (!queue.has_hook)
        queue.has_hook = MPIDI_BUFENLARGE_hook_register(tell_from_progress, &queue.hook) == MPI_SUCCESS;
    if (queue.has_hook)
        MPIR_Progress_hook_activate(queue.hook);
    pthread_mutex_unlock(&queue.mutex);
}

/* -- what has happened -- */

/* Whether a handle is allocated, of any event (mpich-patches, 0016). */
static bool is_wanted(void)
{
    return MPIR_T_event_handles > 0;
}

static noted_t *noted_create(int event)
{
    noted_t *noted = MPL_malloc(sizeof(*noted), MPL_MEM_MPIT);
    MPIR_Assert(noted != NULL);
    noted->event = event;
    return noted;
}

static void note_ring(int event, const MPIDI_BUFENLARGE_vci_t * vci, const bufenlarge_change_t * change)
{
    noted_t *noted = noted_create(event);
    noted->data.ring = (RING_data_t) {
        .peer = change->peer,
        .vci = (element_t) vci->number,
        .sends = (element_t) change->sends,
        .phase_before = change->phase_before,
        .phase = change->phase,
        .phase_wanted = change->phase_wanted,
        .slot_bytes = change->slot_bytes,
        .slots = change->slots,
        .refusal = (element_t) change->refusal,
        .ring_bytes = change->ring_bytes,
        .pinned_bytes = change->pinned_bytes,
    };
    note(noted);
}

/* The library's callback. A direction that has got less than it wanted has grown, and was refused more. */
static void changed(void *user, const bufenlarge_change_t * change)
{
    if (!is_wanted())
        return;
    if (change->phase > change->phase_before)
        note_ring(channel_grown_event, user, change);
    if (change->phase < change->phase_before)
        note_ring(channel_shrunk_event, user, change);
    if (change->refusal != BUFENLARGE_REFUSED_NOT)
        note_ring(growth_refused_event, user, change);
}

void MPIDI_BUFENLARGE_events_watch(MPIDI_BUFENLARGE_vci_t * vci)
{
    bufenlarge_context_set_changed(vci->context, changed);
}

void MPIDI_BUFENLARGE_event_lost(uint32_t number, int status)
{
    if (!is_wanted() || MPL_atomic_acquire_load_int(&leaving))
        return;
    noted_t *noted = noted_create(peer_lost_event);
    noted->data.loss = (LOSS_data_t) {.peer = number,.reason = (element_t) status };
    note(noted);
}

/* -- begin and end -- */

static void register_one(int source, const event_t * event, int *index_p)
{
    MPI_Datatype datatypes[sizeof(RING_data_t) / sizeof(element_t)];
    MPI_Aint displacements[sizeof(RING_data_t) / sizeof(element_t)];
    char text[2048];
    for (int i = 0; i < event->elements; i++) {
        datatypes[i] = MPI_UNSIGNED_LONG_LONG;
        displacements[i] = (MPI_Aint) ((size_t) i * sizeof(element_t));
    }
    snprintf(text, sizeof(text), "%s Elements:%s", event->meaning, event->elements_text);
    MPIR_T_register_event(source, event->name, MPI_T_VERBOSITY_USER_BASIC, datatypes, displacements, event->elements,
                          text, MPI_T_BIND_NO_OBJECT, CATEGORY, index_p);
}

void MPIDI_BUFENLARGE_events_register(void)
{
    int source;
    MPL_atomic_release_store_int(&leaving, 0);
    /* MPICH keeps the events of an MPI that was begun before. */
    if (MPIR_T_event_get_index_impl(events[0].name, &source) == MPI_SUCCESS)
        return;
    MPIR_T_register_source("bufenlarge", "growth and loss of channels, in nanoseconds of CLOCK_MONOTONIC",
                           MPI_T_SOURCE_ORDERED, timestamp, NANOSECONDS, INT64_MAX, &source);
    for (int i = 0; i < EVENTS; i++)
        register_one(source, &events[i], &indices[i]);
}

void MPIDI_BUFENLARGE_events_leave(void)
{
    MPL_atomic_release_store_int(&leaving, 1);
}

void MPIDI_BUFENLARGE_events_end(void)
{
    tell_all();
}

#endif /* HAVE_MPIT_EVENTS */
