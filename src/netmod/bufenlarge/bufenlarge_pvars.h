/* SPDX-License-Identifier: MIT */
/* bufenlarge_pvars.h: performance variables (MPI_T). */
#ifndef BUFENLARGE_PVARS_H_INCLUDED
#define BUFENLARGE_PVARS_H_INCLUDED

#include "bufenlarge_impl.h"

/* Makes the variables known to MPI_T; again is allowed. Their values are 0 while no context is open. */
void MPIDI_BUFENLARGE_pvars_register(void);

#endif /* BUFENLARGE_PVARS_H_INCLUDED */
