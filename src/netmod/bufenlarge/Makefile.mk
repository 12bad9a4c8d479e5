## SPDX-License-Identifier: MIT
## bufenlarge_cvars.h (bufenlarge_info --mpich-cvars), func_table.c and bufenlarge_noinline.h
## (maint/gen_ch4_api.py) are put here when the MPICH tree is made.

if BUILD_CH4_NETMOD_BUFENLARGE

noinst_HEADERS     += src/mpid/ch4/netmod/bufenlarge/netmod_inline.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_am_kinds.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_am_send.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_coll.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_consensus.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_cvars.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_end.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_event_table.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_events.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_exchange.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_failure.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_impl.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_knob_table.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_knobs.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_noinline.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_members.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_memory.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_mpich.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_mpich_inline.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_pre.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_progress.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_pt2pt.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_pvar_table.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_pvars.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_rma.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_rma_impl.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_spawn.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_summary.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_totals.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_tree.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_unexpected.h \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_wire.h

mpi_core_sources   += src/mpid/ch4/netmod/bufenlarge/func_table.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_agreement.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_am_data.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_am_kinds.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_am_recv.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_am_send.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_backlog.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_collect.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_consensus.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_disconnect.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_eager.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_errors.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_events.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_exchange.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_failure.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_failure_end.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_failure_errors.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_finalize.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_forget.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_globals.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_hooks.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_init.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_knob_names.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_knobs.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_late_answers.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_meeting.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_members.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_memory.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_peer.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_persistent.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_places.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_pmi.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_progress.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_pvars.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_rendezvous_recv.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_rendezvous_send.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_report.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_revoked.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_revoked_early.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_rma_batch.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_rma_flush.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_rma_get.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_rma_origin.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_rma_target.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_shm_room.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_sleep.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_spawn.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_spawn_queue.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_summary.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_summary_json.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_ulfm.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_unexpected.c \
                      src/mpid/ch4/netmod/bufenlarge/bufenlarge_window.c

errnames_txt_files += src/mpid/ch4/netmod/bufenlarge/errnames.txt

endif
