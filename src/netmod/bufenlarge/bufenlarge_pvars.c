/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_pvars.c: what the summary says of a process as performance variables, to be read while the job runs
 * (MPI_T). MPICH calls back for each value, so that a variable that is not read costs nothing. A variable that is
 * bound to a communicator has a value for each of its ranks, which is the sum over the VCIs' channels; a phase is the
 * largest.
 */
#include "mpidimpl.h"
#include "bufenlarge_pvars.h"
#include "bufenlarge_pvar_table.h"

#define CATEGORY "BUFENLARGE"

typedef struct {
    bufenlarge_context_stats_t context;
    bufenlarge_direction_stats_t channels;      /* of the own sends */
    uint64_t unexpected_bytes_most;
    uint64_t eager_limits;
} MPIDI_BUFENLARGE_figures_t;

typedef uint64_t(*figure_t) (const MPIDI_BUFENLARGE_figures_t * figures);
typedef uint64_t(*channel_figure_t) (const bufenlarge_channel_stats_t * stats);

typedef struct {
    const char *name, *meaning;
    bool counter;
    figure_t figure;
} pvar_t;

typedef struct {
    const char *name, *meaning;
    bool counter;
    channel_figure_t figure;
} channel_pvar_t;

enum { LEVEL = false, COUNTER = true };

#define FIGURE(name, kind, field, meaning)                                          \
    static uint64_t name##_figure(const MPIDI_BUFENLARGE_figures_t * figures)       \
    {                                                                               \
        return figures->field;                                                      \
    }
MPIDI_BUFENLARGE_PVARS(FIGURE)
#undef FIGURE
#define FIGURE(name, kind, field, meaning)                                          \
    static uint64_t name##_figure(const bufenlarge_channel_stats_t * stats)         \
    {                                                                               \
        return stats->field;                                                        \
    }
MPIDI_BUFENLARGE_CHANNEL_PVARS(FIGURE)
#undef FIGURE
#define ROW(name, kind, field, meaning) { "bufenlarge_" #name, meaning, kind, name##_figure },
static pvar_t pvars[] = { MPIDI_BUFENLARGE_PVARS(ROW) };
static channel_pvar_t channel_pvars[] = { MPIDI_BUFENLARGE_CHANNEL_PVARS(ROW) };
#undef ROW

/* -- locks -- */

/* Where MPICH has one lock, its default, those of the VCIs do nothing. A handler of an event is called with that lock
 * and waits for MPI_T's to read the event, so a thread that has MPI_T's gives it up while it waits for MPICH's. */
#if defined(MPICH_IS_THREADED) && MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__GLOBAL
static void enter_global(void)
{
    MPIR_T_THREAD_CS_EXIT();
    MPIDUI_THREAD_CS_ENTER_REC(MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_T_THREAD_CS_ENTER();
}

static void exit_global(void)
{
    MPIDUI_THREAD_CS_EXIT(MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}
#else
static void enter_global(void)
{
}

static void exit_global(void)
{
}
#endif

/* -- of the process -- */

static void add_channels(bufenlarge_direction_stats_t * sum, const bufenlarge_context_t * context)
{
    const size_t count = bufenlarge_context_channels(context, NULL, 0);
    uint32_t *peers = MPL_malloc((count + 1) * sizeof(*peers), MPL_MEM_OTHER);
    MPIR_Assert(peers != NULL);
    bufenlarge_context_channels(context, peers, count);
    for (size_t i = 0; i < count; i++) {
        bufenlarge_channel_stats_t stats;
        if (!bufenlarge_context_channel_stats(context, peers[i], &stats))
            continue;
        sum->messages += stats.send.messages;
        sum->bytes += stats.send.bytes;
        sum->messages_fragmented += stats.send.messages_fragmented;
        sum->enlargements += stats.send.enlargements;
        sum->shrinks += stats.send.shrinks;
        sum->requests_repeated += stats.send.requests_repeated;
        sum->refused += stats.send.refused;
    }
    MPL_free(peers);
}

/* The value of one VCI; 0 when it is not open. */
static uint64_t value_of(figure_t figure, const MPIDI_BUFENLARGE_vci_t * vci)
{
    MPIDI_BUFENLARGE_figures_t figures = {.eager_limits = vci->eager_limits };
    if (vci->context == NULL)
        return 0;
    figures.unexpected_bytes_most = vci->unexpected_kib_max * (uint64_t) 1024;
    bufenlarge_context_stats(vci->context, &figures.context);
    add_channels(&figures.channels, vci->context);
    return figure(&figures);
}

static void get_value(void *addr, void *object, int count, void *buf)
{
    const pvar_t *pvar = addr;
    uint64_t sum = 0;
    enter_global();
    for (int i = 0; i < MPIDI_BUFENLARGE_VCIS; i++) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(i));
        sum += value_of(pvar->figure, MPIDI_BUFENLARGE_vci(i));
        MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(i));
    }
    exit_global();
    *(unsigned long long *) buf = sum;
}

/* -- of the channels to the ranks of a communicator -- */

/* NULL when the caller has bound the variable to none, as MPICH's mpivars does. */
static MPIR_Comm *comm_of(void *object)
{
    MPIR_Comm *comm = NULL;
    if (object != NULL && MPIDI_BUFENLARGE_bound_comm(object) != MPI_COMM_NULL)
        MPIR_Comm_get_ptr(MPIDI_BUFENLARGE_bound_comm(object), comm);
    return comm;
}

static void get_ranks(void *addr, void *object, int *count)
{
    const MPIR_Comm *comm = comm_of(object);
    *count = comm ? comm->remote_size : 0;
}

static uint64_t channel_value(const channel_pvar_t * pvar, const MPIDI_BUFENLARGE_vci_t * vci, uint32_t number)
{
    bufenlarge_channel_stats_t stats;
    const bool is_there = vci->context && bufenlarge_context_channel_stats(vci->context, number, &stats);
    return is_there ? pvar->figure(&stats) : 0;
}

static void get_channel_values(void *addr, void *object, int count, void *buf)
{
    const channel_pvar_t *pvar = addr;
    unsigned long long *values = buf;
    const bool is_phase = strstr(pvar->name, "_phase") != NULL;
    memset(values, 0, (size_t) count * sizeof(*values));
    enter_global();
    for (int i = 0; i < MPIDI_BUFENLARGE_VCIS; i++) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(i));
        for (int rank = 0; rank < count; rank++) {
            const uint32_t number = MPIDIU_comm_rank_to_av(comm_of(object), rank)->netmod.bufenlarge.number;
            const uint64_t value = channel_value(pvar, MPIDI_BUFENLARGE_vci(i), number);
            values[rank] = is_phase ? MPL_MAX(values[rank], value) : values[rank] + value;
        }
        MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(i));
    }
    exit_global();
}

/* -- all of them -- */

/* MPICH keeps the variables of an MPI that was begun before. */
static bool is_registered(const char *name, int class)
{
    name2index_hash_t *entry;
    HASH_FIND_STR(pvar_hashs[class - MPIR_T_PVAR_CLASS_FIRST], name, entry);
    return entry != NULL;
}

static void register_one(const char *name, const char *meaning, bool counter, void *addr, int bind,
                         MPIR_T_pvar_get_value_cb get, MPIR_T_pvar_get_count_cb get_count)
{
    const int class = counter ? MPI_T_PVAR_CLASS_COUNTER : MPI_T_PVAR_CLASS_LEVEL;
    if (!is_registered(name, class))
        MPIR_T_PVAR_REGISTER_impl(class, MPI_UNSIGNED_LONG_LONG, name, addr, 1, MPI_T_ENUM_NULL,
                                  MPI_T_VERBOSITY_USER_BASIC, bind,
                                  MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, get, get_count, CATEGORY,
                                  meaning);
}

void MPIDI_BUFENLARGE_pvars_register(void)
{
    for (size_t i = 0; i < sizeof(pvars) / sizeof(pvars[0]); i++)
        register_one(pvars[i].name, pvars[i].meaning, pvars[i].counter, &pvars[i], MPI_T_BIND_NO_OBJECT, get_value,
                     NULL);
    for (size_t i = 0; i < sizeof(channel_pvars) / sizeof(channel_pvars[0]); i++)
        register_one(channel_pvars[i].name, channel_pvars[i].meaning, channel_pvars[i].counter, &channel_pvars[i],
                     MPI_T_BIND_MPI_COMM, get_channel_values, get_ranks);
}
