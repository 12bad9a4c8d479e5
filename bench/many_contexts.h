/* SPDX-License-Identifier: MIT */
/* many_contexts.h: many contexts of one job in a few processes, for programs that measure what they cost. */
#ifndef MANY_CONTEXTS_H_INCLUDED
#define MANY_CONTEXTS_H_INCLUDED

#include <bufenlarge.h>
#include <time.h>

extern bufenlarge_context_t **contexts; /* by rank; NULL: in another process, or not open */
extern unsigned count;                  /* ranks of the job; to be set first */
extern unsigned long delivered;         /* messages, at all contexts of this process */

/* A list of them ends with one without a name. */
typedef struct {
    const char *name, *value;
    int may_lack;               /* a library to compare with may not have it */
} knob_t;

/* Prints both and ends the program, status 1. */
_Noreturn void die(const char *what, const char *why);
double now_us(clockid_t clock);

/* Lets the process have all the file descriptors that the system allows it. */
void raise_descriptors(void);

/* Returns memory for the addresses of all ranks. */
unsigned char *new_addresses(void);
/* Opens the contexts of the ranks from `first` to `end` - 1, without a bound on connections or pinned memory, and
 * writes their addresses to their places. A connection that is lost ends the program. */
void open_contexts(unsigned first, unsigned end, const knob_t * knobs, unsigned char *addresses);
/* Tells these contexts the addresses of all ranks. */
void set_addresses(unsigned first, unsigned end, const unsigned char *addresses);
/* Opens all of them. */
void open_all(const knob_t * knobs);
void close_all(void);

/* Sends 8 bytes. Returns 1 when they were taken, 0 where there is no connection yet or no credit. */
int send_8(unsigned from, unsigned to);

/* For qsort(3): numbers of type double, ascending. */
int ascending(const void *a, const void *b);

#endif
