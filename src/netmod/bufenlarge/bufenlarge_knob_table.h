/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_knob_table.h: the knobs that the netmod reads itself, one row each: name, how its text is read (a reader
 * in bufenlarge_knobs.c), default, what is allowed, what it does. All other knobs are the library's
 * (src/bufenlarge/knob_table.h). bufenlarge_info makes the MPI_T variables MPIR_CVAR_BUFENLARGE_<NAME> and
 * docs/knobs.md from both tables.
 */
#ifndef BUFENLARGE_KNOB_TABLE_H_INCLUDED
#define BUFENLARGE_KNOB_TABLE_H_INCLUDED

/* *INDENT-OFF* */
#define MPIDI_BUFENLARGE_KNOBS(X)                                                                        \
    X(SUMMARY, summary, "off", "on or off",                                                              \
      "Print totals and distributions of the job in MPI_Finalize, and up to 64 channels, or of more the ten that " \
      "sent most.")                                                                                      \
    X(SUMMARY_FILE, summary_file, "", "a file in a directory that can be written",                       \
      "Where rank 0 writes the summary as JSON, with all channels. Setting it turns the summary on. "      \
      "bufenlarge_report makes a page of it.")                                                             \
    X(SUMMARY_PROCESSES, summary_processes, "64", "0 to 1024",                                           \
      "The summary of a job of more processes has no channels: all of it comes to rank 0 in messages of one size, " \
      "added up on their way.")                                                                          \
    X(YIELD_AFTER, yield_after, "auto", "auto, or 0 to 1000000; 0 is never",                             \
      "After this many rounds of progress without an event a process offers its processor to others "    \
      "(sched_yield). auto: 4 where the job has more processes on the host than there are processors and another " \
      "wants this processor, otherwise 32.")                                                             \
    X(SLEEP_AFTER, sleep_after, "auto", "auto, never, or 1us to 1s, as a number with us, ms or s",       \
      "After this long without an event a process that waits in MPI sleeps until something comes, and leaves " \
      "its processor to others. auto: 5us where the job has more processes on the host than there are "    \
      "processors, and only after a sched_yield that took long; otherwise never. "                          \
      "On iWARP no message ends a sleep, and each takes 0.1 ms. Only in processes without MPI threads that share no " \
      "memory with others.")                                                                             \
    X(UNEXPECTED, unexpected, "16777216", "off, or 65536 to 1073741824",                                 \
      "A sender is told to ask before it sends more (RTS, CTS) when its messages that no receive waits for take so " \
      "many bytes here. off: no limit, and a process that is flooded grows until its memory ends.")
/* *INDENT-ON* */

#endif /* BUFENLARGE_KNOB_TABLE_H_INCLUDED */
