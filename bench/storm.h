/* SPDX-License-Identifier: MIT */
/* storm.h: what the parts of the storm program share. */
#ifndef STORM_H_INCLUDED
#define STORM_H_INCLUDED

#include "many_contexts.h"

/* The knobs of all contexts, with IDLE_CLOSE. The next call makes the list anew. */
const knob_t *storm_knobs(const char *idle_close);
/* Ends the program when a minute has passed since. */
void must_go_on(double begin);

/* storm_few.c */
void few(unsigned calling);
void reopen(unsigned peers);

#endif
