/* SPDX-License-Identifier: MIT */
/*
 * events.c: what the events of MPI_T tell. rounds= is the scene:
 *
 *   0 rank 0 sends rank 1, then rank 2, and rank 2 sends rank 0 messages that do not fit a small ring. At the beginning
 *     of MPI_Finalize, in which the messages of the summary let other rings grow, each rank adds its events, as lines
 *     "RANK NAME ELEMENT...", to the file EVENTS_FILE (a variable of the environment). The runner compares them with
 *     the summary (run, case events).
 *   1 the last rank dies, and the process manager leaves the others alone (run, case lost): one event tells each of
 *     them, with peer and reason.
 *
 * With threads=1 the level is MPI_THREAD_MULTIPLE. Checked here, of each event: that its handler is called with the
 * safety that is documented, and none that asks for a call without restrictions; that all functions read the same of
 * it; that its time lies between those of the event before and of the call; that a handler can read a variable, and
 * that the variables count what was told.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { GROWN, SHRUNK, REFUSED, LOST, EVENTS };
enum { TAG = 7, MESSAGES = 60, LIMIT = 10, ELEMENTS_MOST = 16, SEEN_MOST = 4096 };

static const char *const names[EVENTS] = { "bufenlarge_channel_grown", "bufenlarge_channel_shrunk",
                                           "bufenlarge_growth_refused", "bufenlarge_peer_lost" };
static const int elements_of[EVENTS] = { 11, 11, 11, 2 };
static int numbers[EVENTS] = { 0, 1, 2, 3 };

typedef unsigned long long element_t;

static struct {
    int event;
    element_t elements[ELEMENTS_MOST];
} seen[SEEN_MOST];
static int seen_count, unrestricted_calls, source;
static int ends; /* in MPI_Finalize MPICH has one thread */
static MPI_Count last_time;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle variables[EVENTS];
static element_t own[EVENTS]; /* events that these variables count: those of receives they do not */

/* -- handlers -- */

static element_t variable_now(int which)
{
    element_t value = 0;
    EXPECT_EQUAL("status of MPI_T_pvar_read", MPI_SUCCESS, MPI_T_pvar_read(session, variables[which], &value));
    return value;
}

static void unrestricted(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                         void *user)
{
    (void) instance, (void) registration, (void) safety, (void) user;
    unrestricted_calls++;
}

static void check_time(MPI_T_event_instance instance)
{
    MPI_Count at = 0, now = 0;
    int source_now = -1;
    MPI_T_event_get_source(instance, &source_now);
    EXPECT_EQUAL("source of the event", source, source_now);
    MPI_T_event_get_timestamp(instance, &at);
    if (at < last_time)
        FAIL("an event happened before the one that was told before it");
    last_time = at;
    MPI_T_source_get_timestamp(source, &now);
    if (now < at)
        FAIL("an event happens in the future");
}

static void happened(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *user)
{
    const int event = *(const int *) user;
    (void) registration;
    element_t copy[ELEMENTS_MOST], *elements = seen[seen_count].elements;
    EXPECT_EQUAL("safety of the call", test_options.threads && !ends ? MPI_T_CB_REQUIRE_THREAD_SAFE
                 : MPI_T_CB_REQUIRE_MPI_RESTRICTED, safety);
    if (seen_count == SEEN_MOST - 1)
        FAIL("more than %d events", seen_count);
    MPI_T_event_copy(instance, copy);
    for (int i = 0; i < elements_of[event]; i++) {
        MPI_T_event_read(instance, i, &elements[i]);
        EXPECT_EQUAL("element of the copy", elements[i], copy[i]);
    }
    check_time(instance);
    seen[seen_count++].event = event;
    own[event] += event == LOST || elements[2] == 1;
    /* The process manager may tell of a loss before the channel fails. */
    if (variable_now(event) < own[event] && event != LOST)
        FAIL("the variable that counts %s is %llu, though %llu were told", names[event], variable_now(event),
             own[event]);
}

/* -- begin -- */

static void check_source(void)
{
    char name[64] = "", text[256] = "";
    int name_bytes, text_bytes, sources = 0;
    MPI_T_source_order order;
    MPI_Count ticks = 0, most = 0;
    MPI_Info info;
    MPI_T_source_get_num(&sources);
    for (source = 0; source < sources && strcmp(name, "bufenlarge") != 0; source++) {
        name_bytes = sizeof(name), text_bytes = sizeof(text);
        MPI_T_source_get_info(source, name, &name_bytes, text, &text_bytes, &order, &ticks, &most, &info);
    }
    source--;
    EXPECT_EQUAL("whether there is a source bufenlarge", 0, strcmp(name, "bufenlarge"));
    EXPECT_EQUAL("order of its events", MPI_T_SOURCE_ORDERED, order);
    EXPECT_EQUAL("ticks per second", 1000000000, ticks);
}

static void check_info(int event, int index)
{
    char name[128] = "", text[2048] = "";
    MPI_Datatype datatypes[ELEMENTS_MOST];
    MPI_Aint displacements[ELEMENTS_MOST];
    int name_bytes = sizeof(name), text_bytes = sizeof(text), verbosity, elements = ELEMENTS_MOST, bind;
    MPI_T_enum enumeration;
    MPI_Info info;
    EXPECT_EQUAL("status of MPI_T_event_get_info", MPI_SUCCESS,
                 MPI_T_event_get_info(index, name, &name_bytes, &verbosity, datatypes, displacements, &elements,
                                      &enumeration, &info, text, &text_bytes, &bind));
    EXPECT_EQUAL(names[event], 0, strcmp(names[event], name));
    EXPECT_EQUAL("elements", elements_of[event], elements);
    for (int i = 0; i < elements; i++) {
        EXPECT_EQUAL("displacement", (size_t) i * sizeof(element_t), displacements[i]);
        EXPECT_EQUAL("whether it is unsigned long long", 1, datatypes[i] == MPI_UNSIGNED_LONG_LONG);
    }
    if (strstr(text, " Elements: peer: ") == NULL)
        FAIL("%s does not describe its elements: %s", name, text);
}

static void watch(int event)
{
    MPI_T_event_registration registration;
    int index;
    if (MPI_T_event_get_index(names[event], &index) != MPI_SUCCESS)
        FAIL("there is no event %s; MPICH needs --enable-mpit-events=yes", names[event]);
    check_info(event, index);
    MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration);
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL,
                                  &numbers[event], happened);
    MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration);
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, unrestricted);
}

static void open_variable(int event)
{
    static const char *const of_events[EVENTS] = { "bufenlarge_enlargements", "bufenlarge_shrinks",
                                                   "bufenlarge_enlargements_refused", "bufenlarge_channels_failed" };
    int index, count;
    EXPECT_EQUAL(of_events[event], MPI_SUCCESS,
                 MPI_T_pvar_get_index(of_events[event], MPI_T_PVAR_CLASS_COUNTER, &index));
    MPI_T_pvar_handle_alloc(session, index, NULL, &variables[event], &count);
}

static void begin(void)
{
    MPI_T_pvar_session_create(&session);
    check_source();
    for (int event = 0; event < EVENTS; event++) {
        open_variable(event);
        watch(event);
    }
}

/* -- scenes -- */

/* The sender knows that a message has arrived before it sends the next. */
static void send_large(int from, int to, size_t bytes)
{
    for (int i = 0; i < MESSAGES; i++) {
        const uint64_t key = (uint64_t) ((from * test_size + to) * MESSAGES + i);
        int word = 0;
        if (test_rank == from) {
            unsigned char *data = pattern_alloc(bytes, key);
            MPI_Send(data, (int) bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
            MPI_Recv(&word, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            guarded_free(data);
        } else if (test_rank == to) {
            unsigned char *data = guarded_alloc(bytes);
            MPI_Recv(data, (int) bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            EXPECT_PATTERN("large message", data, bytes, key);
            MPI_Send(&word, 1, MPI_INT, from, TAG, MPI_COMM_WORLD);
            guarded_free(data);
        }
    }
}

static void grow(void)
{
    test_connect_all(TAG);
    send_large(0, 1, test_options.bytes);
    send_large(0, 2, test_options.bytes);
    send_large(2, 0, test_options.bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int is_lost(int i)
{
    return seen[i].event == LOST && seen[i].elements[0] == (element_t) test_size - 1 && seen[i].elements[1] == 4;
}

static void lose(void)
{
    int word = 0, class = MPI_SUCCESS, flag;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    test_connect_all(TAG);
    if (test_rank == test_size - 1)
        raise(SIGKILL);
    alarm(LIMIT);
    MPI_Error_class(MPI_Recv(&word, 1, MPI_INT, test_size - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
    EXPECT_EQUAL("receive from the dead rank", MPIX_ERR_PROC_FAILED, class);
    while (seen_count == 0)
        MPI_Iprobe(test_rank, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* -- end -- */

static void write_all(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    /* In one write, because all ranks write to the same file. */
    const int file = open(getenv("EVENTS_FILE"), O_WRONLY | O_APPEND | O_CREAT, 0644);
    for (int i = 0; i < seen_count; i++) {
        fprintf(memory, "%d %s", test_rank, names[seen[i].event]);
        for (int j = 0; j < elements_of[seen[i].event]; j++)
            fprintf(memory, " %llu", seen[i].elements[j]);
        fprintf(memory, "\n");
    }
    fclose(memory);
    if (file < 0 || write(file, text, bytes) != (ssize_t) bytes)
        FAIL("EVENTS_FILE cannot be written");
    close(file);
    free(text);
}

static int all_told(void)
{
    for (int event = 0; event < EVENTS; event++) {
        if (variable_now(event) != own[event])
            return 0;
    }
    return 1;
}

/* MPI_Finalize frees the attributes of MPI_COMM_SELF first. What happened last is told in a later round of progress,
 * which a probe of MPI_COMM_SELF does not make. */
static int at_the_end(MPI_Comm comm, int key, void *value, void *extra)
{
    int flag;
    (void) comm, (void) key, (void) value, (void) extra;
    ends = 1;
    for (const double end = MPI_Wtime() + LIMIT / 2; MPI_Wtime() < end && !all_told();)
        MPI_Iprobe(test_rank, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    for (int event = 0; event < EVENTS; event++)
        EXPECT_EQUAL(names[event], variable_now(event), own[event]);
    if (test_options.rounds == 0)
        write_all();
    return MPI_SUCCESS;
}

/* After MPI_Finalize, when nothing more is told. Returns the program's status. */
static int check_end(void)
{
    if (unrestricted_calls > 0)
        fprintf(stderr, "rank %d: %d calls of unrestricted handlers\n", test_rank, unrestricted_calls);
    int expected = test_options.rounds == 1, losses = 0, right = 0;
    for (int i = 0; i < seen_count; i++) {
        losses += seen[i].event == LOST;
        right += is_lost(i);
    }
    if (losses != expected || right != expected)
        fprintf(stderr, "rank %d: %d losses told, %d right, expected %d\n", test_rank, losses, right, expected);
    return unrestricted_calls > 0 || losses != expected || right != expected;
}

int main(int argc, char **argv)
{
    int key, provided;
    const int level = test_thread_level(argc, argv);
    MPI_T_init_thread(level, &provided);
    test_begin_threads(argc, argv, (test_options_t) { .bytes = 10000 }, level);
    if (test_options.rounds > 1 || test_size < 3 || (test_options.rounds == 0 && getenv("EVENTS_FILE") == NULL))
        FAIL("allowed are rounds=0 with EVENTS_FILE set, and rounds=1, with 3 ranks or more");
    begin();
    test_options.rounds == 0 ? grow() : lose();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Finalize();
    const int status = check_end();
    if (status == 0 && test_rank == 0)
        puts(" No Errors");
    MPI_T_finalize();
    return status;
}
