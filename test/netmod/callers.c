/* SPDX-License-Identifier: MIT */
/*
 * callers.c: a process starts two others, each a job of its own, and has a port, which the first of them connects to.
 * While that one waits
 *
 *   rounds=1  the process itself connects to a port of the second, with contexts that differ, and then accepts the
 *             first: each has to be connected to whom it has called
 *   rounds=2  the first is killed, and the second connects: the process has to accept the second
 *   rounds=3  the process closes its port and starts a third one, which has to be its child; the first gives up
 *
 * The others are called with rounds=10 and more. The process manager leaves all alone (run, case lost).
 */
#include "death_support.h"

enum { TAG = 3, FIRST = 10, SECOND = 20, THIRD = 30, COMMS = 5, WAIT_US = 500000 };

static void say_word(MPI_Comm comm, int word)
{
    MPI_Send(&word, 1, MPI_INT, 0, TAG, comm);
}

static void expect_word(MPI_Comm comm, int expected)
{
    int word = 0;
    MPI_Recv(&word, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE);
    EXPECT_EQUAL("who is connected", expected, word);
}

static MPI_Comm connect_to(char *port)
{
    MPI_Comm comm;
    step("MPI_Comm_connect");
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
    return comm;
}

static MPI_Comm accept_at(char *port)
{
    MPI_Comm comm;
    step("MPI_Comm_accept");
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
    return comm;
}

static void call(MPI_Comm parent, int who)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, parent, MPI_STATUS_IGNORE);
    MPI_Comm comm = connect_to(port);
    say_word(comm, who);
    MPI_Comm_disconnect(&comm);
}

/* Nobody accepts. */
static void call_in_vain(MPI_Comm parent)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm comm;
    MPI_Info info;
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, parent, MPI_STATUS_IGNORE);
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "2");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    step("MPI_Comm_connect");
    test_expect_class("MPI_Comm_connect", MPI_ERR_PORT, MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &comm));
    MPI_Info_free(&info);
}

static void be_called(MPI_Comm parent)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm dups[COMMS];
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &dups[i]);
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, parent);
    usleep(WAIT_US);
    MPI_Comm comm = accept_at(port);
    say_word(comm, SECOND);
    MPI_Comm_disconnect(&comm);
    MPI_Close_port(port);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&dups[i]);
}

static int be_started(MPI_Comm parent, long scene, int who)
{
    if (scene == 2 && who == FIRST) {
        const pid_t pid = getpid();
        MPI_Send(&pid, sizeof(pid), MPI_BYTE, 0, TAG, parent);
    }
    if (scene == 1 && who == SECOND)
        be_called(parent);
    else if (scene == 3 && who == FIRST)
        call_in_vain(parent);
    else if (scene == 3)
        say_word(parent, who);
    else
        call(parent, who);
    step("MPI_Finalize");
    MPI_Finalize();
    return 0;
}

static MPI_Comm start(char *program, long scene, int who)
{
    char text[64];
    MPI_Comm comm;
    snprintf(text, sizeof(text), "trap '' USR1; \"$0\" rounds=%ld; true", scene + who);
    /* To Hydra it ends well. */
    char *arguments[] = { "-c", text, program, NULL };
    step("MPI_Comm_spawn");
    MPI_Comm_spawn("bash", arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm, MPI_ERRCODES_IGNORE);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

static void make_progress(MPI_Comm comm, int us)
{
    const double end = MPI_Wtime() + us * 1e-6;
    int there;
    while (MPI_Wtime() < end)
        MPI_Iprobe(0, TAG + 1, comm, &there, MPI_STATUS_IGNORE);
}

static void call_while_called(char *own_port, MPI_Comm second)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, second, MPI_STATUS_IGNORE);
    MPI_Comm comm = connect_to(port);
    expect_word(comm, SECOND);
    MPI_Comm_disconnect(&comm);
    comm = accept_at(own_port);
    expect_word(comm, FIRST);
    MPI_Comm_disconnect(&comm);
}

static void outlive_a_caller(char *own_port, pid_t caller, MPI_Comm second)
{
    kill(caller, SIGKILL);
    make_progress(second, WAIT_US);
    MPI_Send(own_port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, second);
    MPI_Comm comm = accept_at(own_port);
    expect_word(comm, SECOND);
    MPI_Comm_disconnect(&comm);
}

/* The children of a process talk to it by a port, too. */
static void start_while_called(char *own_port, char *program, MPI_Comm first, MPI_Comm second)
{
    expect_word(second, SECOND);
    MPI_Send(own_port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, first);
    make_progress(first, WAIT_US);
    MPI_Close_port(own_port);
    expect_word(start(program, 3, THIRD), THIRD);
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME];
    pid_t caller = 0;
    MPI_Comm parent;
    test_begin(argc, argv, (test_options_t) { .rounds = 1 });
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return be_started(parent, test_options.rounds % FIRST, (int) test_options.rounds / FIRST * FIRST);
    const long scene = test_options.rounds;
    MPI_Comm first = start(argv[0], scene, FIRST), second = start(argv[0], scene, SECOND);
    MPI_Open_port(MPI_INFO_NULL, port);
    if (scene == 2)
        MPI_Recv(&caller, sizeof(caller), MPI_BYTE, 0, TAG, first, MPI_STATUS_IGNORE);
    if (scene == 3) {
        start_while_called(port, argv[0], first, second);
    } else {
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, first);
        make_progress(first, WAIT_US);
        if (scene == 1)
            call_while_called(port, second);
        else
            outlive_a_caller(port, caller, second);
        MPI_Close_port(port);
    }
    step("MPI_Finalize");
    MPI_Finalize();
    puts(" No Errors");
    return 0;
}
