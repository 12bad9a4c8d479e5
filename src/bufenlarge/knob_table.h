// SPDX-License-Identifier: MIT
// The table of the library's knobs. A row: name, how its text is read (a reader in knobs.cc), default,
// what is allowed, what it does. The parsing and the error messages are made from it. From it and from the
// table of the knobs that only the netmod reads (src/netmod/bufenlarge/bufenlarge_knob_table.h),
// bufenlarge_info makes the MPI_T variables MPIR_CVAR_BUFENLARGE_<NAME> (--mpich-cvars), docs/knobs.md
// (--knobs-markdown) and the list in bufenlarge(7) (--knobs-man).
#pragma once

#define BUFENLARGE_KNOBS(X)                                                                           \
  X(PHASES, phases, "256,512,8256",                                                                   \
    "1 to 8 slot sizes in bytes, from 64 to 4194304, each larger than the one before, with commas",   \
    "Slot sizes of the phases a ring goes through. Every channel begins with the first; a direction " \
    "moves on when an element does not fit, or when it waits for slots (GROWTH). Equal in all processes.")         \
  X(SLOTS, slots, "auto", "auto, or 1 to 4096; one number for all phases or one for each, with commas",         \
    "Slots per ring. Ring memory per connected peer is 2 x SLOTS x slot size (send and receive). auto: 4 in a " \
    "first phase of at most 256 bytes that others follow, else 16. Equal in all processes.")              \
  X(THRESHOLD, thresholds, "100%",                                                                    \
    "1% to 100% of a slot's payload, or 1 and more bytes; one for all phases or one for each, with "  \
    "commas",                                                                                         \
    "The largest element that counts as fitting a phase. A number of bytes given alone is that of "   \
    "the first phase; the others then have 100%.")                                                    \
  X(ENLARGEMENT, enlargement, "on", "on or off",                                                      \
    "off: channels keep their first phase; larger data goes through it in fragments.")                   \
  X(GROWTH, growth, "earned", "first or earned",                                                     \
    "When a direction moves on to a larger phase. earned: when the fragments of what does not fit, or waiting for " \
    "slots where the next phase has more, have cost what growing would have cost, so that a few such messages " \
    "leave the ring small. first: at the first element that does not fit, and never by waiting.") \
  X(VECTOR, vector, "partial", "partial or whole",                                                    \
    "What goes when an element does not fit. partial: the elements before it. whole: nothing, the "   \
    "whole vector waits for the larger ring.")                                                        \
  X(PROVIDER, provider, "auto", "auto, tcp or verbs",                                                 \
    "libfabric provider. auto: verbs where there is an RDMA device with an address, else tcp.")  \
  X(ARRIVAL, arrival, "auto", "auto, polled, notified or mixed",                                      \
    "How a receiver learns that slots are there. polled: it looks at memory, and at a check where the " \
    "device may place bytes out of order. notified: a completion tells (immediate data; a message after " \
    "the write on iWARP). mixed: small slots polled, writes with larger ones by notification. auto: mixed on " \
    "RoCE, notified there where processes sleep, polled on iWARP and tcp.")                           \
  X(HOT_CHANNELS, hot_channels, "32", "0 to 1024",                                                    \
    "On RoCE and iWARP, polled or mixed: the most connections whose memory each round of progress looks at. The "  \
    "peers of the others, which cost nothing, notify of what they write.")                            \
  X(RENDEZVOUS, rendezvous, "auto", "auto, off, or 1024 to 1073741824 bytes",                          \
    "The smallest message whose data goes from user memory to user memory without a copy. auto: 65536 "   \
    "bytes, where that begins to be faster; 131072 where the job has more processes on the host than there "       \
    "are processors. off: all data goes through the rings.")                                           \
  X(WINDOW_MEMORY, window_memory, "auto", "auto, or 0 to 1125899906842624 bytes",                        \
    "How much of its windows a process registers at once; on verbs such memory is pinned, used or not. What is "\
    "beyond is reached by messages. auto: all of it on tcp; on verbs half of the machine's memory, shared by "   \
    "the job's processes on it.")                                                                     \
  X(REGISTRATION_CACHE, registration_cache, "auto", "auto, off, or 65536 to 1125899906842624 bytes",       \
    "How much user memory stays registered while no transfer uses it, so that the next transfer of the same "        \
    "memory finds it registered; what was not used for longest gives way. Memory stays only where MEMORY_MONITOR "   \
    "sees its mapping change; what MPI gave out (windows, MPI_Alloc_mem), and that of persistent and partitioned "   \
    "requests for these, always. auto: on verbs 268435456, or the process's share of a 16th of the machine's "       \
    "memory if that is less; off on tcp, where a registration costs little. The VCIs of a process share it. off: "   \
    "a registration lasts as long as its transfer.")                                                                 \
  X(MEMORY_MONITOR, memory_monitor, "auto", "auto, hooks or none",                                      \
    "How a process learns that memory is unmapped. hooks: munmap, mremap, madvise, brk and others of the C library "  \
    "are patched in the process. auto: hooks where REGISTRATION_CACHE is on and they work. none: not at all; then a " \
    "program that changes the mapping of memory of MPI_Alloc_mem, or of a persistent request's between two starts, "  \
    "needs REGISTRATION_CACHE=off.")                                                                  \
  X(INTERFACE, text_interface, "", "names or addresses of network interfaces that are up, with commas", \
    "Interface to use: of those that are there the first whose device is near the processors that the process may "   \
    "run on, or else the first. Of a name's addresses IPv4 counts before IPv6. Empty: the first that other hosts can " \
    "reach, IPv4 before IPv6; loopback if there is no other.")                                        \
  X(ACK_TIMEOUT, ack_timeout, "1s", "1ms to 1h, as a number with us, ms or s",                        \
    "After this long without a whole acknowledgement an enlargement request is repeated; the pause "  \
    "doubles up to 32 times as much.")                                                                \
  X(CONNECT_TIMEOUT, connect_timeout, "30s", "1ms to 24h, as a number with us, ms or s",              \
    "How long a peer that refuses connections or cannot be reached is tried again, from the first "   \
    "refusal on. A peer that is silent is waited for: it may be computing.")                          \
  X(PEER_TIMEOUT, peer_timeout, "60s", "off, or 5s to 24h, as a number with us, ms or s",               \
    "A connected peer, over tcp also one that was called, is lost when its host has not responded for so long. " \
    "The kernel or the network device there responds, so a peer that computes, sleeps or is stopped stays. off: a "  \
    "host that vanished is noticed when the transport gives up, which may be never.")                 \
  X(IDLE_CLOSE, idle_close, "off", "off, or 1ms to 24h, as a number with us, ms or s",                \
    "A connection that was not used for so long is closed by agreement with the peer, and made again on use. off: " \
    "connections stay.")                                                                              \
  X(SHRINK_AFTER, shrink_after, "2s", "off, or 1ms to 24h, as a number with us, ms or s",             \
    "A direction that has grown and did not need it for one to two times so long goes back to a smaller ring, and " \
    "grows again on use; the time doubles, 64 times as much at most, where that is soon. off: it stays large.") \
  X(CONNECTIONS, connections, "auto", "auto, or 0 to 1048576; 0 is no bound",                         \
    "The most connections a process has at once, those being made included; of each VCI. When another is wanted, " \
    "the one that was not used for longest is closed, and made again on use. auto: seven eighths of what the free " \
    "file descriptors allow (tcp: one each, and six more for each 64) or the device's queue pairs, divided by the " \
    "job's processes on the machine (verbs); no bound where that is enough for all peers.")           \
  X(MEMORY_MAX, memory_max, "auto", "auto, off, or 1048576 to 1125899906842624 bytes",                  \
    "The most memory a process pins at once: rings, control blocks, queues, and user memory of transfers and "       \
    "windows. At the limit, large rings that were not used for longest go back, then idle connections are closed; "  \
    "what is still refused goes in smaller pieces. auto: no limit on tcp, which pins nothing; on verbs the least of " \
    "what the process may lock (ulimit -l) and three quarters of its share of the memory. off: no limit.") \
  X(LOG, log, "off", "off, error, state or trace",                                                      \
    "What each process logs. error: failures of channels. state: also every change of a channel's state, with " \
    "the time, the peer, the old and the new state and the reason. trace: also single protocol messages.")   \
  X(LOG_FILE, text_log_file, "", "the beginning of a file name, in a directory that can be written",      \
    "Where the log goes. Empty: to standard error. Else each process writes the file NAME.RANK.")     \
  X(MEMORY_LOG, text_memory_log, "", "the beginning of a file name, in a directory that can be written",  \
    "Each process writes its registered memory over time into the file NAME.RANK, a line of comma-separated values " \
    "when it has changed, at most one in a millisecond. bufenlarge_info --draw-memory draws such files. Empty: none.")
