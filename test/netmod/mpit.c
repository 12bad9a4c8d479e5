/* SPDX-License-Identifier: MIT */
/*
 * mpit.c: writes in MPI_Finalize what the performance variables say, as lines "RANK NAME PEER VALUE", to the end of
 * the file MPIT_FILE (a variable of the environment), after data of all sizes in a ring of ranks. The runner compares
 * them with the summary. Checked here: that they can be read before there was traffic, that those of a communicator
 * have a value for each of its ranks, that a counter grows while the job runs, and that each variable has a
 * description. With threads=1 another thread reads them all, again and again, while channels are made and talk.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { NAME_BYTES = 128, TEXT_BYTES = 512, TAG = 2, ROUNDS = 40 };

static MPI_T_pvar_session session;

static int is_ours(int index, char *name, int *class_p, int *bind_p)
{
    char text[TEXT_BYTES];
    int name_bytes = NAME_BYTES, text_bytes = TEXT_BYTES, verbosity, readonly, continuous, atomic;
    MPI_Datatype datatype;
    MPI_T_enum enumeration;
    MPI_T_pvar_get_info(index, name, &name_bytes, &verbosity, class_p, &datatype, &enumeration, text, &text_bytes,
                        bind_p, &readonly, &continuous, &atomic);
    if (strncmp(name, "bufenlarge_", 11) != 0)
        return 0;
    if (datatype != MPI_UNSIGNED_LONG_LONG || !readonly || !continuous || text[0] == '\0')
        FAIL("%s is of another type, can be written, has to be started, or has no description", name);
    return 1;
}

/* Reads a variable, bound to the communicator where it has to be. Returns how many values it has. */
static int read_values(int index, int bind, MPI_Comm comm, unsigned long long *values)
{
    MPI_T_pvar_handle handle;
    int count = 0;
    void *object = bind == MPI_T_BIND_MPI_COMM ? &comm : NULL;
    const int status = MPI_T_pvar_handle_alloc(session, index, object, &handle, &count);
    EXPECT_EQUAL("status of MPI_T_pvar_handle_alloc", MPI_SUCCESS, status);
    EXPECT_EQUAL("values", bind == MPI_T_BIND_MPI_COMM ? test_size : 1, count);
    EXPECT_EQUAL("status of MPI_T_pvar_read", MPI_SUCCESS, MPI_T_pvar_read(session, handle, values));
    MPI_T_pvar_handle_free(session, &handle);
    return count;
}

static unsigned long long read_one(const char *wanted)
{
    char name[NAME_BYTES];
    int variables = 0, class, bind;
    unsigned long long value = 0;
    MPI_T_pvar_get_num(&variables);
    for (int index = 0; index < variables; index++) {
        if (is_ours(index, name, &class, &bind) && strcmp(name, wanted) == 0) {
            read_values(index, bind, MPI_COMM_WORLD, &value);
            return value;
        }
    }
    FAIL("there is no variable %s", wanted);
}

static void print_all(FILE * to)
{
    char name[NAME_BYTES];
    int variables = 0, class, bind;
    unsigned long long *values = malloc((size_t) test_size * sizeof(*values));
    MPI_T_pvar_get_num(&variables);
    for (int index = 0; index < variables; index++) {
        if (!is_ours(index, name, &class, &bind))
            continue;
        const int count = read_values(index, bind, MPI_COMM_WORLD, values);
        for (int i = 0; i < count; i++) {
            if (bind == MPI_T_BIND_MPI_COMM)
                fprintf(to, "%d %s %d %llu\n", test_rank, name, i, values[i]);
            else
                fprintf(to, "%d %s - %llu\n", test_rank, name, values[i]);
        }
    }
    free(values);
}

/* In one write, because all ranks write to the same file. */
static void write_all(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    const int file = open(getenv("MPIT_FILE"), O_WRONLY | O_APPEND | O_CREAT, 0644);
    print_all(memory);
    fclose(memory);
    if (file < 0 || write(file, text, bytes) != (ssize_t) bytes)
        FAIL("MPIT_FILE cannot be written");
    close(file);
    free(text);
}

/* MPI_Finalize frees the attributes of MPI_COMM_SELF first. */
static int at_the_end(MPI_Comm comm, int key, void *value, void *extra)
{
    write_all();
    return MPI_SUCCESS;
}

static void talk(size_t bytes)
{
    const int to = (test_rank + 1) % test_size, from = (test_rank + test_size - 1) % test_size;
    unsigned char *data = pattern_alloc(bytes, (uint64_t) test_rank);
    unsigned char *got = guarded_alloc(bytes);
    MPI_Sendrecv(data, (int) bytes, MPI_BYTE, to, TAG, got, (int) bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EXPECT_PATTERN("message", got, bytes, (uint64_t) from);
    guarded_free(data);
    guarded_free(got);
}

static atomic_int sampling = 1;

/* As a tool does that looks at a job while it runs. */
static void *sample(void *nothing)
{
    unsigned long long messages = 0;
    do {
        const unsigned long long now = read_one("bufenlarge_messages");
        FILE *nowhere = fopen("/dev/null", "w");
        print_all(nowhere);
        fclose(nowhere);
        if (now < messages)
            FAIL("bufenlarge_messages went from %llu to %llu", messages, now);
        messages = now;
    } while (sampling);
    return nothing;
}

int main(int argc, char **argv)
{
    int key, provided;
    static const size_t sizes[] = { 8, 400, 4000, 40000, 200000 };
    const int level = test_thread_level(argc, argv);
    pthread_t sampler;
    if (getenv("MPIT_FILE") == NULL)
        FAIL("MPIT_FILE is not set");
    MPI_T_init_thread(level, &provided);
    test_begin_threads(argc, argv, (test_options_t) {.rounds = ROUNDS }, level);
    MPI_T_pvar_session_create(&session);
    const unsigned long long before = read_one("bufenlarge_messages");
    if (test_options.threads && pthread_create(&sampler, NULL, sample, NULL) != 0)
        FAIL("a thread cannot be made");
    for (long round = 0; round < test_options.rounds; round++) {
        for (int i = 0; i < 5; i++)
            talk(sizes[i]);
    }
    sampling = 0;
    if (test_options.threads)
        pthread_join(sampler, NULL);
    if (read_one("bufenlarge_messages") < before + 4 * (unsigned long long) test_options.rounds)
        FAIL("bufenlarge_messages has not counted the messages of this job");
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    return test_end();
}
