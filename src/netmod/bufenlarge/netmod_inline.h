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

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_comm_get_gpid(MPIR_Comm * comm_ptr, int idx,
                                                    uint64_t * gpid_ptr, bool is_remote)
{
    int avtid = 0, lpid = 0;
    if (comm_ptr->comm_kind == MPIR_COMM_KIND__INTRACOMM || is_remote)
        MPIDIU_comm_rank_to_pid(comm_ptr, idx, &lpid, &avtid);
    else
        MPIDIU_comm_rank_to_pid_local(comm_ptr, idx, &lpid, &avtid);
    *gpid_ptr = MPIDIU_GPID_CREATE(avtid, lpid);
    return MPI_SUCCESS;
}

/* Not inlined; generated from ch4_api.txt. */
#include "bufenlarge_noinline.h"

#endif /* NETMOD_INLINE_H_INCLUDED */
