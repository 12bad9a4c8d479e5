/* SPDX-License-Identifier: MIT */
/* bufenlarge_globals.c: the state of the netmod, apart from the functions so that each file can use it. */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"

MPIDI_BUFENLARGE_global_t MPIDI_BUFENLARGE_global;
unsigned MPIDI_BUFENLARGE_shm_events[MPIDI_CH4_MAX_VCIS];
