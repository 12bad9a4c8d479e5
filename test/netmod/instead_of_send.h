/* SPDX-License-Identifier: MIT */
/*
 * instead_of_send.h: a function of the test that MPI calls in place of the library's bufenlarge_channel_send(). To be
 * included by one file of a program, which defines send_instead().
 */
#ifndef INSTEAD_OF_SEND_H
#define INSTEAD_OF_SEND_H

#include <bufenlarge.h>
#include <dlfcn.h> /* RTLD_NEXT is of GNU */

/* docs/wire-protocol.md, section 9. */
enum { HEADER_BYTES = 16, EAGER = 3 };

typedef bufenlarge_status_t (*send_function_t)(bufenlarge_channel_t *, const struct iovec *, int, unsigned, size_t *);

/* What bufenlarge_channel_send() is to do; `library` is the library's. With the lock of the VCI. */
static bufenlarge_status_t send_instead(send_function_t library, bufenlarge_channel_t *channel, const struct iovec *iov,
                                        int iov_count, unsigned flags, size_t *bytes_sent_p);

/* Found before the library's own. */
bufenlarge_status_t bufenlarge_channel_send(bufenlarge_channel_t *channel, const struct iovec *iov, int iov_count,
                                            unsigned flags, size_t *bytes_sent_p)
{
    static send_function_t library;
    if (library == NULL)
        *(void **) &library = dlsym(RTLD_NEXT, "bufenlarge_channel_send");
    return send_instead(library, channel, iov, iov_count, flags, bytes_sent_p);
}

/* Whether it is an eager message: its header, and perhaps its data in a second part. */
static inline int is_eager(const struct iovec *iov)
{
    return iov[0].iov_len == HEADER_BYTES && *(unsigned char *) iov[0].iov_base == EAGER;
}

#endif /* INSTEAD_OF_SEND_H */
