/* SPDX-License-Identifier: MIT */
/* listeners.h: the TCP ports on which given processes of this machine listen. */
#ifndef LISTENERS_H_INCLUDED
#define LISTENERS_H_INCLUDED

#include <netinet/in.h>

/* Writes the addresses on which the processes listen, at most `count_max`, and returns how many
 * there are. A socket that the process' parent has too does not count: it was inherited (the ranks
 * of a job have mpiexec's). An address of any interface becomes the loopback address. Only /proc
 * is read, so the processes must be the caller's own. */
int listeners_find(const char *const *pids, int pid_count, struct sockaddr_in *addresses,
                   int count_max);

/* The same, but waits until each process listens. After `seconds` the program ends with an error. */
int listeners_await(const char *const *pids, int pid_count, struct sockaddr_in *addresses,
                    int count_max, int seconds);

#endif
