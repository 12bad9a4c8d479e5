/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_init.c: from MPI_Init to the first message. init_local checks the knobs, so that a wrong one
 * ends MPI_Init before anything is opened. init_world, with MPI_COMM_WORLD, opens the library's contexts,
 * and the processes exchange their addresses, and compare what has to be equal, through PMI
 * (bufenlarge_exchange.c). No process connects: that happens with the first message.
 */
#include "mpidimpl.h"
#include "bufenlarge_noinline.h"
#include "bufenlarge_events.h"
#include "bufenlarge_exchange.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_knobs.h"
#include "bufenlarge_members.h"
#include "bufenlarge_pvars.h"

/* Waits for the other processes before MPI_Init fails: a process that ends while others still start PMI
 * makes Hydra 4.0.2 stop without printing why. Each process has one more barrier to pass, this one or
 * the one behind MPID_Init() in MPICH. */
static int wait_for_others(int mpi_errno)
{
    if (MPIR_Process.size > 1) {
        int barrier_errno = MPIR_pmi_barrier();
        if (barrier_errno != MPI_SUCCESS)
            MPIR_ERR_ADD(mpi_errno, barrier_errno);
    }
    return mpi_errno;
}

static void check_sizes(void)
{
    MPL_COMPILE_TIME_ASSERT(sizeof(MPIDI_BUFENLARGE_wire_t) == 16);
    MPL_COMPILE_TIME_ASSERT(offsetof(MPIDI_BUFENLARGE_header_t, am_hdr) == 16);
    MPL_COMPILE_TIME_ASSERT(MPIDIG_HANDLER_STATIC_MAX <= UINT8_MAX);
    MPL_COMPILE_TIME_ASSERT(sizeof(MPIDI_BUFENLARGE_peer_t) < 100);
    MPL_COMPILE_TIME_ASSERT(MPIDI_CH4_MAX_VCIS <= UINT8_MAX);
    /* A port name has a process name in hexadecimal. */
    MPL_COMPILE_TIME_ASSERT(2 * BUFENLARGE_NAME_BYTES + 64 < MPI_MAX_PORT_NAME);
}

/* MPI begins again, with a session, when it was ended before. A process that has failed takes no part in what all do
 * through the process manager then, and it would wait for that process: so this one does not begin. */
static int check_all_live(void)
{
    static bool began_before;
    int mpi_errno = MPI_SUCCESS;
    char text[BUFENLARGE_MESSAGE_BYTES];
    char *failed = began_before ? MPIDI_BUFENLARGE_failed_list() : NULL;
    began_before = true;
    if (failed != NULL && failed[0] != '\0') {
        snprintf(text, sizeof(text), "MPI does not begin again: these ranks of the job have failed: %s", failed);
        mpi_errno = MPIDI_BUFENLARGE_error(BUFENLARGE_ERR_PEER, text);
    }
    MPL_free(failed);
    return mpi_errno;
}

int MPIDI_BUFENLARGE_init_local(int *tag_bits)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    check_sizes();
    if ((mpi_errno = check_all_live()) != MPI_SUCCESS)
        goto fn_exit;
    MPIDI_BUFENLARGE_failures = MPIDI_BUFENLARGE_own_failures = 0;
    MPIDI_BUFENLARGE_members_reset();
    MPIDI_BUFENLARGE_begin_with_world();
    MPIR_ERR_CHKANDJUMP2(MPIDI_BUFENLARGE_WANTED_VCIS > MPIDI_CH4_MAX_VCIS, mpi_errno, MPI_ERR_OTHER,
                         "**bufenlarge_vcis", "**bufenlarge_vcis %d %d", MPIDI_BUFENLARGE_WANTED_VCIS,
                         MPIDI_CH4_MAX_VCIS);
    mpi_errno = MPIDI_BUFENLARGE_job_key_put();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_BUFENLARGE_knobs_read();
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_BUFENLARGE_knobs_warn();
    MPIDI_BUFENLARGE_shm_warn();
    MPIDI_BUFENLARGE_pvars_register();
    for (int i = 0; i < MPIDI_BUFENLARGE_WANTED_VCIS; i++) {
        MPIDI_BUFENLARGE_vci(i)->number = i;
        MPIDI_BUFENLARGE_vci(i)->yield_after = MPIDI_BUFENLARGE_global.knobs.yield_after;
    }
    /* MPIDIG carries tags as they are. */
    *tag_bits = MPIR_TAG_BITS_DEFAULT;

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    bufenlarge_options_destroy(MPIDI_BUFENLARGE_global.options);
    MPIDI_BUFENLARGE_global.options = NULL;
    mpi_errno = wait_for_others(mpi_errno);
    goto fn_exit;
}

static int open_context(MPIDI_BUFENLARGE_vci_t * vci)
{
    char text[BUFENLARGE_MESSAGE_BYTES];
    const bufenlarge_context_config_t config = {
        .options = MPIDI_BUFENLARGE_global.options,
        .rank = (uint32_t) MPIR_Process.rank,
        .size = (uint32_t) MPIR_Process.size,
        .job_key = MPIDI_BUFENLARGE_global.job_key,
        .deliver = MPIDI_BUFENLARGE_deliver,
        .failed = MPIDI_BUFENLARGE_failed,
        .user = vci,
        .read_done = MPIDI_BUFENLARGE_read_done,
        .fragment = MPIDI_BUFENLARGE_fragment,
        .source_released = MPIDI_BUFENLARGE_source_released,
        .warn = MPIDI_BUFENLARGE_warn,
        .write_done = MPIDI_BUFENLARGE_write_done,
        .contexts = (uint32_t) MPIDI_BUFENLARGE_WANTED_VCIS,
        .fatal = MPIDI_BUFENLARGE_fatal,
    };
    bufenlarge_status_t status =
        bufenlarge_context_open(&config, &vci->context, text, sizeof(text));
    if (status != BUFENLARGE_OK)
        return MPIDI_BUFENLARGE_error(status, text);
    MPIDI_BUFENLARGE_events_watch(vci);
    return MPI_SUCCESS;
}

static MPI_Aint limit(size_t bytes)
{
    return (MPI_Aint) MPL_MIN(bytes, (size_t) PTRDIFF_MAX);
}

/* Sets the sizes at which the data path of a message changes, which depend on the fabric. */
static void set_limits(const MPIDI_BUFENLARGE_vci_t * vci)
{
    bufenlarge_limits_t limits;
    MPI_Aint eager_max = MPL_MIN(MPIDI_BUFENLARGE_EAGER_MAX, MPIDI_BUFENLARGE_PACK_BUFFER_SIZE);
    bufenlarge_context_limits(vci->context, &limits);
    MPIDI_BUFENLARGE_global.rendezvous_min = limit(limits.rendezvous_min);
    MPIDI_BUFENLARGE_global.put_write_min = limit(limits.window_write_min);
    MPIDI_BUFENLARGE_global.get_read_min = limit(limits.window_read_min);
    MPIDI_BUFENLARGE_global.eager_max = MPL_MIN(eager_max, MPIDI_BUFENLARGE_global.rendezvous_min - 1);
}

static void print_debug_summary(const MPIDI_BUFENLARGE_vci_t * vci)
{
    bufenlarge_context_stats_t stats;
    bufenlarge_context_stats(vci->context, &stats);
    printf("==== bufenlarge netmod ====\n");
    printf("library: %s\n", bufenlarge_version());
    printf("provider: %s (%s), interface: %s\n", stats.provider, stats.protocol,
           stats.interface_name);
    printf("VCIs: %d\n", MPIDI_BUFENLARGE_WANTED_VCIS);
    printf("eager up to %ld bytes, rendezvous from %ld bytes\n",
           (long) MPIDI_BUFENLARGE_global.eager_max, (long) MPIDI_BUFENLARGE_global.rendezvous_min);
    printf("===========================\n");
}

static void close_contexts(void)
{
    for (int i = 0; i < MPIDI_BUFENLARGE_WANTED_VCIS; i++) {
        bufenlarge_context_close(MPIDI_BUFENLARGE_vci(i)->context);
        MPIDI_BUFENLARGE_vci(i)->context = NULL;
    }
}

/* All contexts, or none. */
static int open_contexts(void)
{
    int mpi_errno = MPIDI_BUFENLARGE_knobs_check_file();
    for (int i = 0; i < MPIDI_BUFENLARGE_WANTED_VCIS && mpi_errno == MPI_SUCCESS; i++)
        mpi_errno = open_context(MPIDI_BUFENLARGE_vci(i));
    if (mpi_errno != MPI_SUCCESS)
        close_contexts();
    return mpi_errno;
}

int MPIDI_BUFENLARGE_init_world(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    for (int rank = 0; rank < MPIR_Process.size; rank++)
        MPIDI_BUFENLARGE_av_of_world(rank)->netmod.bufenlarge.number = (uint32_t) rank;

    /* Behind MPICH's own events, so that their numbers are the same over every netmod: MPICH's test recvq_events goes
     * by them. */
    MPIDI_BUFENLARGE_events_register();
    if (MPIDI_BUFENLARGE_BARRIER_LEFT_OUT && MPIR_Process.size > 1) {
        mpi_errno = MPIR_pmi_barrier();
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIDI_BUFENLARGE_job_key_get();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_BUFENLARGE_exchange(open_contexts());
    MPIR_ERR_CHECK(mpi_errno);
    set_limits(MPIDI_BUFENLARGE_main_vci());
    MPIDI_BUFENLARGE_sleep_init(MPIDI_BUFENLARGE_main_vci());
    MPIDI_BUFENLARGE_global.has_world = true;
    if (MPIR_CVAR_DEBUG_SUMMARY && MPIR_Process.rank == 0)
        print_debug_summary(MPIDI_BUFENLARGE_main_vci());

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    close_contexts();
    MPIDI_BUFENLARGE_addresses_free();
    goto fn_exit;
}
