/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on a daemon's socket (SOCK_SEQPACKET): one request, one answer. Format: docs/formats/session.md. Thread
 * safety: plain data. */
#ifndef TRIB_RING_MESSAGE_H
#define TRIB_RING_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_WIRE_MAGIC        0x62697274u /* "trib" */
#define TRIB_WIRE_VERSION      3u

#define TRIB_PROGRAM_BYTES_MAX 1024u

enum trib_request_kind {
    TRIB_REQUEST_JOIN = 1,
    TRIB_REQUEST_STATUS = 2,  /* detail: enum trib_status_kind */
    TRIB_REQUEST_CONTROL = 3, /* detail: enum trib_control; the daemon's owner and root only */
    TRIB_REQUEST_FAILED = 4,  /* after a join: what was given cannot be used; detail: errno */
};
enum trib_control { TRIB_CONTROL_PAUSE = 1, TRIB_CONTROL_RESUME = 2, TRIB_CONTROL_STOP = 3 };

/* A join carries a pidfd of the process (SCM_RIGHTS) where the kernel has them. */
struct trib_request {
    uint32_t magic;
    uint16_t version, kind;
    uint32_t detail;
    uint32_t pid;   /* as the process sees itself */
    uint64_t image; /* changes with every exec; tells what an earlier program of the same process left behind */
    uint64_t epoch; /* of the daemon that this process was joined to, or 0 */
    uint64_t missed_events, missed_bytes; /* that no ring took since the process began */
    uint16_t program_bytes, reserved[3];  /* of program; longer paths keep their end */
    char program[TRIB_PROGRAM_BYTES_MAX];
};
#define TRIB_REQUEST_BYTES_MIN ((uint32_t)offsetof(struct trib_request, program))

/* A join's answer carries the ring and the table (SCM_RIGHTS, in this order), unless the process may keep what it has.
 */
struct trib_answer {
    uint32_t magic;
    uint16_t version;
    uint16_t program; /* the program's number */
    int32_t code;     /* 0, -EACCES, -EUSERS, -EPROTO, -ENOMEM, -EALREADY (same daemon: keep ring and table) */
    uint32_t ring_events, ring_bytes, table_bytes;
    uint64_t epoch;
};

TRIB_C_END
#endif
