/* SPDX-License-Identifier: MIT */
/* bufenlarge_knobs.h: the knobs in MPI_Init. */
#ifndef BUFENLARGE_KNOBS_H_INCLUDED
#define BUFENLARGE_KNOBS_H_INCLUDED

#include "bufenlarge_impl.h"

/* bufenlarge_knobs.c */

/* Reads all knobs, the library's too. An error names the knob, its value and what is allowed. */
int MPIDI_BUFENLARGE_knobs_read(void);
/* Checks, in rank 0, which writes the file, that its directory can be written; the file itself need not exist. */
int MPIDI_BUFENLARGE_knobs_check_file(void);

/* bufenlarge_knob_names.c */

/* Warns, in rank 0, of variables in the environment that look like knobs and are none. */
void MPIDI_BUFENLARGE_knobs_warn(void);

#endif /* BUFENLARGE_KNOBS_H_INCLUDED */
