/* SPDX-License-Identifier: MIT */
/* bufenlarge_events.h: events (MPI_T), where MPICH was configured with --enable-mpit-events=yes; else nothing. */
#ifndef BUFENLARGE_EVENTS_H_INCLUDED
#define BUFENLARGE_EVENTS_H_INCLUDED

#include "bufenlarge_impl.h"

#ifdef HAVE_MPIT_EVENTS

/* Makes the events known to MPI_T; again is allowed. */
void MPIDI_BUFENLARGE_events_register(void);
/* From now on what happens to the rings of this VCI is told. To be called when its context is open. */
void MPIDI_BUFENLARGE_events_watch(MPIDI_BUFENLARGE_vci_t * vci);
/* A process was lost. Any lock may be held. */
void MPIDI_BUFENLARGE_event_lost(uint32_t number, int status);
/* From now on no loss is told: processes leave. To be called before the last barrier of MPI_Finalize. */
void MPIDI_BUFENLARGE_events_leave(void);
/* Tells what is left to be told. To be called before the contexts are closed: handlers may read variables. */
void MPIDI_BUFENLARGE_events_end(void);

#else

MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_events_register(void)
{
}

MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_events_watch(MPIDI_BUFENLARGE_vci_t * vci)
{
}

MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_event_lost(uint32_t number, int status)
{
}

MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_events_leave(void)
{
}

MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_events_end(void)
{
}

#endif

#endif /* BUFENLARGE_EVENTS_H_INCLUDED */
