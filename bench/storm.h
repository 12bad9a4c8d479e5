/* SPDX-License-Identifier: MIT */
/* storm.h: what the parts of the storm program share. */
#ifndef STORM_H_INCLUDED
#define STORM_H_INCLUDED

#include <bufenlarge.h>
#include <time.h>

extern bufenlarge_context_t **contexts; /* by rank; NULL: in another process */
extern unsigned count;
extern unsigned arrived; /* messages, at all contexts of this process */

_Noreturn void die(const char *what, const char *why);
double now_us(clockid_t clock);

/* Opens the contexts of the ranks from `first` to `end` - 1, and writes their addresses to their places. */
void open_some(unsigned first, unsigned end, const char *idle_close, unsigned char *addresses);
void tell_addresses(unsigned first, unsigned end, const unsigned char *addresses);
unsigned char *new_addresses(void);
void open_all(const char *idle_close);

/* Returns 1 when the message was taken. */
int send_to(unsigned from, unsigned to);
/* Ends the program when a minute has passed since. */
void must_go_on(double begin);

/* storm_few.c */
void few(unsigned calling);
void reopen(unsigned peers);

#endif
