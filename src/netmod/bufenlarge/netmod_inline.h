/* SPDX-License-Identifier: MIT */
/* netmod_inline.h: the netmod's inline functions, which MPICH includes into its own files. */
#ifndef NETMOD_INLINE_H_INCLUDED
#define NETMOD_INLINE_H_INCLUDED

#include "bufenlarge_impl.h"
#include "bufenlarge_am_send.h"
#include "bufenlarge_mpich_inline.h"

/* MPIDI_ENABLE_AM_ONLY comes from MPICH's configure option --enable-ch4-am-only. */
#ifdef MPIDI_ENABLE_AM_ONLY
#include "netmod_am_fallback.h"
#else
#include "bufenlarge_rma.h"
#include "bufenlarge_coll.h"
#include "netmod_am_fallback_part.h"
#endif

/* Not inlined; generated from ch4_api.txt. */
#include "bufenlarge_noinline.h"

#endif /* NETMOD_INLINE_H_INCLUDED */
