/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge.h: the C interface of libbufenlarge, a message channel to each peer over
 * pre-registered RDMA rings that start small and grow per channel and direction. The terms are
 * those of docs/glossary.md.
 *
 * How a message travels. Each channel is an ordered, reliable stream of messages to one peer. A
 * message is a vector of elements handed to bufenlarge_channel_send(). The library copies it into
 * the slots of the channel's staging ring and RDMA-writes these into the peer's receive ring. The
 * peer's bufenlarge_context_progress() hands the payload of each slot, a fragment of the message,
 * to its deliver callback, in order.
 *
 * How data avoids the copies (rendezvous). One side advertises memory as a source, and tells its
 * peer the source handle in a message of its own. The peer reads the source: it sends a read
 * request, and RDMA writes go from user memory to user memory (docs/wire-protocol.md, section 10).
 *
 * Rules that hold for every function here
 *  - No function throws or starts a thread, and none but bufenlarge_context_sleep() waits.
 *  - Zero bytes sent is not an error: the caller keeps the rest and tries again after a later
 *    bufenlarge_context_progress().
 *  - A context and everything in it has one owner at a time: the caller makes sure that calls on
 *    one context do not overlap. Different contexts of one process share nothing, and different
 *    threads may use them at once.
 *  - The library cuts texts in `message` buffers to fit, ends them with NUL, and keeps them to
 *    one line.
 */
#ifndef BUFENLARGE_H_INCLUDED
#define BUFENLARGE_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#if defined(__GNUC__)
#define BUFENLARGE_API __attribute__((visibility("default")))
#else
#define BUFENLARGE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the wire protocol (docs/wire-protocol.md). A process refuses peers of another version. */
#define BUFENLARGE_WIRE_VERSION 13

/* The most bytes of an endpoint address: bufenlarge_context_address_bytes() says how many it has. */
#define BUFENLARGE_ADDRESS_BYTES_MAX 28

/* Bytes of a process name (bufenlarge_context_name). */
#define BUFENLARGE_NAME_BYTES 48

/* The largest number of phases a channel can have. */
#define BUFENLARGE_PHASES_MAX 8

/* A `message` buffer of this size holds every text whole. */
#define BUFENLARGE_MESSAGE_BYTES 512

typedef struct bufenlarge_options bufenlarge_options_t;
typedef struct bufenlarge_context bufenlarge_context_t;
typedef struct bufenlarge_channel bufenlarge_channel_t;

typedef enum {
    BUFENLARGE_OK = 0,
    BUFENLARGE_ERR_OPTION = 1,   /* a knob's name or value is wrong; text names what is allowed */
    BUFENLARGE_ERR_FABRIC = 2,   /* libfabric refused; text has the call and its reason */
    BUFENLARGE_ERR_MEMORY = 3,   /* memory could not be had or registered */
    BUFENLARGE_ERR_PEER = 4,     /* this channel's peer is lost; other channels are unharmed */
    BUFENLARGE_ERR_PROTOCOL = 5, /* the peer broke the wire protocol or speaks another one */
    BUFENLARGE_ERR_TIMEOUT = 6,  /* the connect time limit passed */
    BUFENLARGE_ERR_ARGUMENT = 7  /* the caller broke this interface's contract */
} bufenlarge_status_t;

/* The name of a status, for messages ("BUFENLARGE_ERR_PEER"). Never NULL. */
BUFENLARGE_API const char *bufenlarge_status_name(bufenlarge_status_t status);

/* "1.0.0 (wire 4)" */
BUFENLARGE_API const char *bufenlarge_version(void);

/* ---- knobs (docs/knobs.md, declared in knob_table.h) ------------------------------------- */

/* How many knobs there are, and their names ("PHASES", "SLOTS", ...), in table order. */
BUFENLARGE_API size_t bufenlarge_knob_count(void);
BUFENLARGE_API const char *bufenlarge_knob_name(size_t index);

/* All knobs at their defaults; NULL only when memory is exhausted. Destroy when the context is open. */
BUFENLARGE_API bufenlarge_options_t *bufenlarge_options_create(void);
BUFENLARGE_API void bufenlarge_options_destroy(bufenlarge_options_t *options);

/* Sets one knob from text. A value of NULL or "" keeps the default. On BUFENLARGE_ERR_OPTION the
 * options are unchanged and `message` names the knob, the value and what is allowed. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_options_set(bufenlarge_options_t *options,
                                                          const char *name, const char *value,
                                                          char *message, size_t message_bytes);

/* Checks knobs against each other (phases grow, thresholds fit their slots). To be called once
 * after the last set; bufenlarge_context_open() does it too. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_options_check(const bufenlarge_options_t *options,
                                                            char *message, size_t message_bytes);

/* ---- context ----------------------------------------------------------------------------- */

/* Marks on a delivered fragment. The only fragment of a message has both. */
#define BUFENLARGE_FIRST 1u /* begins a message */
#define BUFENLARGE_LAST 2u  /* ends a message */

/* A fragment of a message has arrived from `peer`. `data` (8-byte aligned) lies in the receive ring
 * and is readable until the callback returns. The library calls it from
 * bufenlarge_context_progress() only, in order per peer, with each byte exactly once. The callback
 * may send on any channel; it may not call progress or close. `bytes` may be 0. */
typedef void (*bufenlarge_deliver_fn)(void *user, uint32_t peer, const void *data, size_t bytes,
                                      unsigned marks);

/* The channel to `peer` has failed. Called once per channel, from progress or send. The library
 * releases the channel's memory; it delivers nothing more of what was under way. `message` is valid
 * during the call. */
typedef void (*bufenlarge_failed_fn)(void *user, uint32_t peer, bufenlarge_status_t status,
                                     const char *message);

/* A read has ended: all its data is at the destination (BUFENLARGE_OK), or will not come. The
 * destination is the caller's again. `cookie` is the one given to the read. */
typedef void (*bufenlarge_read_done_fn)(void *user, uint32_t peer, void *cookie,
                                        bufenlarge_status_t status);

/* The next bytes of a read without a destination. `data` is readable until the callback returns. */
typedef void (*bufenlarge_fragment_fn)(void *user, uint32_t peer, void *cookie, const void *data,
                                       size_t bytes);

/* A source is the caller's again: the peer has released it (BUFENLARGE_OK), or has failed. */
typedef void (*bufenlarge_source_released_fn)(void *user, uint32_t peer, void *cookie,
                                              bufenlarge_status_t status);

/* A write has ended: its data is the caller's again (BUFENLARGE_OK), or the peer has failed. That
 * the data is placed in the peer's memory only a message with BUFENLARGE_FENCE shows. */
typedef void (*bufenlarge_write_done_fn)(void *user, uint32_t peer, void *cookie,
                                         bufenlarge_status_t status);

/* The user should know this: a registration of memory was refused, so data goes in smaller
 * fragments or waits; or a connection waits because there is no file descriptor to spare. Called at
 * most once per context for each of the two. `message` has what was refused or is needed, and the
 * limit; it is valid during the call. The callback may not call the library. */
typedef void (*bufenlarge_warn_fn)(void *user, const char *message);

/* The context cannot go on: progress met an error that belongs to no channel, such as exhausted
 * memory. `message` is valid during the call. When the callback returns, the context only allows
 * bufenlarge_context_close(). */
typedef void (*bufenlarge_fatal_fn)(void *user, bufenlarge_status_t status, const char *message);

typedef struct {
    const bufenlarge_options_t *options; /* copied; NULL means defaults */
    uint32_t rank;                       /* of this process in its job */
    uint32_t size;                       /* processes in the job: peers 0 .. size-1; peers of other jobs follow */
    uint64_t job_key;                    /* the job's secret, equal in all its processes; it never leaves them */
    bufenlarge_deliver_fn deliver;
    bufenlarge_failed_fn failed;
    void *user; /* handed to all callbacks */
    /* NULL where the caller neither reads nor advertises. Called under the rules of `deliver`, or
     * when a channel fails. */
    bufenlarge_read_done_fn read_done;
    bufenlarge_fragment_fn fragment;
    bufenlarge_source_released_fn source_released;
    bufenlarge_warn_fn warn;             /* may be NULL */
    bufenlarge_write_done_fn write_done; /* NULL where the caller does not write */
    uint32_t contexts;                   /* contexts this process opens for the job, which share its memory; 0 is 1 */
    bufenlarge_fatal_fn fatal;           /* NULL: the library prints the text and calls abort(3) */
} bufenlarge_context_config_t;

/* Opens the device, a listener and a completion queue; connects to nobody. Raises the process's soft
 * limit on file descriptors to the hard one (RLIMIT_NOFILE), and where registrations stay it patches
 * functions of the C library (knob MEMORY_MONITOR). On failure *context_p is NULL and `message` says
 * what was tried and what is there. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_open(
    const bufenlarge_context_config_t *config, bufenlarge_context_t **context_p, char *message,
    size_t message_bytes);

/* Closes every channel and frees everything. Messages that have not reached the peer's host are
 * lost: ask bufenlarge_context_idle() first. NULL is allowed. */
BUFENLARGE_API void bufenlarge_context_close(bufenlarge_context_t *context);

/* The context's own endpoint address, and how many bytes it has, as all of the job have: 16 for IPv4, 28 for IPv6. */
BUFENLARGE_API size_t bufenlarge_context_address_bytes(const bufenlarge_context_t *context);
BUFENLARGE_API void bufenlarge_context_address(const bufenlarge_context_t *context, void *address);

/* Writes what has to be equal in all processes of a job before they may connect: wire version, libfabric's
 * provider and protocol, IPv4 or IPv6, PHASES and SLOTS, an item a line. Equal items make equal texts. A buffer of
 * BUFENLARGE_MESSAGE_BYTES holds it. */
BUFENLARGE_API void bufenlarge_context_agreement(const bufenlarge_context_t *context, char *text, size_t text_bytes);

/* Gives the context the addresses of all processes of the job, in order of rank (`count` equals the
 * configured size), and copies them. To be called, or the next, before bufenlarge_context_channel(). */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_set_addresses(bufenlarge_context_t *context,
                                                                    const void *addresses, size_t count);

/* The same without a copy: the address of rank r stays at `addresses` + r * `stride`, unchanged, until the
 * context is closed. So the processes of a host, and the contexts of a process, can share one table. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_share_addresses(bufenlarge_context_t *context,
                                                                      const void *addresses,
                                                                      size_t stride, size_t count);

/* ---- processes of other jobs ------------------------------------------------------------- */

/* Writes the process name of `peer`, BUFENLARGE_NAME_BYTES long. A process of another job that has
 * the name can connect to that peer, and do nothing else with it: tell it only to those that may.
 * BUFENLARGE_ERR_ARGUMENT when there is no such peer, or when the peer has connected by itself and its
 * name is not known. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_name(const bufenlarge_context_t *context,
                                                           uint32_t peer, void *name);

/* Returns the peer number of the process with this name: its rank if it is of the same job, else a
 * number from the job's size on, the same at each call. A process of another job that connects first
 * gets such a number by itself. BUFENLARGE_ERR_ARGUMENT when the name is not valid. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_add_peer(bufenlarge_context_t *context,
                                                               const void *name, uint32_t *peer_p);

/* Frees what the context keeps of a process of another job. Its number may be given to another one then, so
 * the caller must have no use for it, nor for its channel. Returns 0, with nothing done, while the channel
 * is connected or connects, or has failed in this round, and for processes of the own job. Not to be called
 * from a callback. */
BUFENLARGE_API int bufenlarge_context_forget_peer(bufenlarge_context_t *context, uint32_t peer);

/* Returns the channel to `peer`, which the context owns. The first call creates it, without connecting. NULL when
 * memory is exhausted or `peer` is out of range. The own rank gives a loopback channel. */
BUFENLARGE_API bufenlarge_channel_t *bufenlarge_context_channel(bufenlarge_context_t *context, uint32_t peer);

/* Makes one bounded round of progress: completions, connection events, arrived slots, grants,
 * acknowledgements, timers. Returns the number of events handled; 0 when there were none. */
BUFENLARGE_API unsigned bufenlarge_context_progress(bufenlarge_context_t *context);

/* Lets data wake bufenlarge_context_sleep(). On RoCE only a completion wakes a process, so peers then notify of all
 * that they write. To be called before the first connection, from own or from a peer's side, is made. Returns 1; 0,
 * with nothing changed, on iWARP, where ARRIVAL demands that this process looks at memory (polled or mixed, on RoCE),
 * and when there is no memory. */
BUFENLARGE_API int bufenlarge_context_enable_sleep(bufenlarge_context_t *context);

/* Waits until something may have come for this context, at most `microseconds`; where data does not wake it, at most
 * 100. To be called by a process that has nothing else to do, right after a bufenlarge_context_progress() that returned
 * 0. Returns 1 after it has waited, 0 at once when there is work left: the caller then goes on with progress. */
BUFENLARGE_API int bufenlarge_context_sleep(bufenlarge_context_t *context, uint32_t microseconds);

/* Returns how many processes of the job have addresses on this host, this one too; 1 before they are known. */
BUFENLARGE_API uint32_t bufenlarge_context_local_processes(const bufenlarge_context_t *context);

/* Returns 1 if these are more than the host has processors, else 0. */
BUFENLARGE_API int bufenlarge_context_shares_processors(const bufenlarge_context_t *context);

/* Returns 1 when everything that send accepted, on all channels that have not failed, has reached the kernel or the
 * device of the peer's host; else 0. May ask it, so make progress between two calls. */
BUFENLARGE_API int bufenlarge_context_idle(bufenlarge_context_t *context);

/* Returns 1 when all that is written and completed locally. Asks nobody. On tcp libfabric and the kernel may have it
 * yet, and a peer's kernel takes up to 40 ms to say that it has it: for where something else tells that it was read. */
BUFENLARGE_API int bufenlarge_context_written(const bufenlarge_context_t *context);

/* ---- channel ----------------------------------------------------------------------------- */

/* This vector does not end the message: a later call brings the rest. */
#define BUFENLARGE_MORE 1u
/* The library may hold what it takes until bufenlarge_channel_flush() or the next round of progress,
 * because the caller sends more on this channel at once; small messages then share a write. */
#define BUFENLARGE_CORK 2u
/* The peer delivers this message after everything that bufenlarge_channel_write() wrote before it is
 * placed in its memory. The message is at most bufenlarge_channel_element_max() bytes, and is taken
 * whole or not at all. */
#define BUFENLARGE_FENCE 4u

/* Takes as much of the vector as can go now, from its start, and returns at once. The library has
 * copied *bytes_sent_p bytes (0 .. total), which are the caller's again. The first send connects.
 *
 * A message of which the library took a part is open: the next send on this channel brings its rest
 * and nothing else. Zero or any partial count with BUFENLARGE_OK is normal: there is no credit, or a
 * connection or enlargement is under way. When an element is larger than the threshold of the
 * present slots, nothing goes from that element on until the channel has grown; where it cannot grow, or has not
 * earned that yet (GROWTH), the element goes in fragments. Give at least one byte: a vector of zero bytes sends no
 * message. BUFENLARGE_ERR_PEER and worse are final for the channel. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_channel_send(bufenlarge_channel_t *channel,
                                                           const struct iovec *iov, int iov_count,
                                                           unsigned flags, size_t *bytes_sent_p);

/* Writes what bufenlarge_channel_send() held because of BUFENLARGE_CORK. What cannot go now goes with
 * progress. */
BUFENLARGE_API void bufenlarge_channel_flush(bufenlarge_channel_t *channel);

/* Ends the channel, because the peer has sent what is not allowed, or has ended. Calls failed, unless the channel has
 * failed already or is a loopback. The peer learns it by the end of the connection. `status` is not BUFENLARGE_OK. */
BUFENLARGE_API void bufenlarge_channel_fail(bufenlarge_channel_t *channel, bufenlarge_status_t status,
                                            const char *message);

/* Returns the size in bytes of the largest element that goes now without growing the channel. */
BUFENLARGE_API size_t bufenlarge_channel_element_max(const bufenlarge_channel_t *channel);

/* Says why the channel has failed; "" while it has not. The channel owns the text. */
BUFENLARGE_API const char *bufenlarge_channel_error(const bufenlarge_channel_t *channel);

/* ---- rendezvous: sources and reads ------------------------------------------------------- */

/* The sizes in bytes from which data paths without a copy pay on this fabric, or what the knob
 * RENDEZVOUS says; SIZE_MAX when it is off. They depend on the addresses, which the context is to have before. */
typedef struct {
    size_t rendezvous_min;   /* smallest message for which a read beats sending through the ring */
    size_t window_read_min;  /* smallest read of window memory that beats a message */
    size_t window_write_min; /* smallest write into window memory that beats a message */
} bufenlarge_limits_t;

BUFENLARGE_API void bufenlarge_context_limits(const bufenlarge_context_t *context, bufenlarge_limits_t *limits_p);

/* The response to this read releases the peer's source. */
#define BUFENLARGE_READ_LAST 1u
/* The memory is of a persistent request; see bufenlarge_context_keep_memory(). */
#define BUFENLARGE_PERSISTENT 2u

/* Advertises these segments, as one range of bytes, to the channel's peer, and returns in *source_p
 * the source handle (never 0) that the caller tells the peer. The segments may not change until
 * source_released is called, once, with `cookie`. The library copies the iov array. Where memory
 * cannot be registered, the peer reads it through the ring. flags: BUFENLARGE_PERSISTENT or 0. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_channel_advertise(bufenlarge_channel_t *channel,
                                                                const struct iovec *iov,
                                                                int iov_count, unsigned flags,
                                                                void *cookie, uint32_t *source_p);

/* Reads `bytes` (at least 1) from `offset` of the peer's source into segments of as many bytes in
 * all; with iov_count 0 the fragment callback gets the data, in order. Returns at once. The library
 * calls read_done when all data is there, never from within this call. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_channel_read(bufenlarge_channel_t *channel,
                                                           uint32_t source, uint64_t offset,
                                                           const struct iovec *iov, int iov_count,
                                                           uint64_t bytes, unsigned flags,
                                                           void *cookie);

/* Tells the peer that this side will not read its source (again); the peer's source_released
 * follows. No callback comes on this side. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_channel_release_source(bufenlarge_channel_t *channel, uint32_t source);

/* ---- registrations that stay -------------------------------------------------------------- */

/* From its first transfer on this memory stays registered, as source and as destination, until
 * bufenlarge_context_release_memory(), as far as REGISTRATION_CACHE allows and unless other memory
 * needs the room. Nothing of it may be unmapped, moved or dropped meanwhile (munmap, mremap, madvise).
 * BUFENLARGE_ERR_ARGUMENT when it overlaps other such memory.
 *
 * With BUFENLARGE_PERSISTENT it is the memory of a persistent request, and may overlap. Only transfers
 * with that flag use its registration: from the first one after this call on it stays mapped until the last. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_keep_memory(bufenlarge_context_t *context, void *memory,
                                                                  size_t bytes, unsigned flags);

/* To be called before this memory is freed, or when the persistent request ends: with the same arguments. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_release_memory(bufenlarge_context_t *context, void *memory,
                                                                     size_t bytes, unsigned flags);

/* ---- window memory ----------------------------------------------------------------------- */

/* Peers may write: where a write's arrival cannot be told from its bytes (iWARP, polled), they only
 * read. */
#define BUFENLARGE_WINDOW_WRITABLE 1u

/* Window memory, as the caller describes it to its peers. */
typedef struct {
    uint64_t address; /* for writes */
    uint32_t key;     /* remote key, for writes */
    uint32_t source;  /* source handle, for reads; never 0 */
    uint64_t flags;   /* BUFENLARGE_WINDOW_WRITABLE or 0 */
} bufenlarge_window_t;

/* Registers this memory so that every peer may read and write it until
 * bufenlarge_context_deregister_window(). Peers read it without BUFENLARGE_READ_LAST. The memory may
 * change at any time; the upper layer sees to it that peers use it when it is meant to be used.
 * BUFENLARGE_ERR_MEMORY when the registration is refused, or would exceed the knob WINDOW_MEMORY. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_register_window(bufenlarge_context_t *context,
                                                                      void *memory, size_t bytes,
                                                                      bufenlarge_window_t *window_p);

/* Ends the registration that has this source handle. To be called when no peer has a read or write
 * of it under way. */
BUFENLARGE_API void bufenlarge_context_deregister_window(bufenlarge_context_t *context, uint32_t source);

/* Writes into a peer's window memory, from `offset` on. The caller checks the range: a write beyond
 * it makes the device end the connection. Returns at once. The library calls write_done with
 * `cookie` when the data may be changed again, never from within this call. BUFENLARGE_ERR_MEMORY:
 * the data cannot be registered now, or the peer is not connected, and nothing was done but that a
 * connection is made; a message does the same. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_channel_write(bufenlarge_channel_t *channel,
                                                            const bufenlarge_window_t *to,
                                                            uint64_t offset, const void *data,
                                                            size_t bytes, void *cookie);

#ifdef __cplusplus
}
#endif

#include "bufenlarge_stats.h"

#endif /* BUFENLARGE_H_INCLUDED */
