/* SPDX-License-Identifier: Apache-2.0 */
/* What client.c (events) and join.c (the way to the daemon) share. */
#ifndef TRIB_PRODUCER_CLIENT_H
#define TRIB_PRODUCER_CLIENT_H

#include <stdatomic.h>

#include <tributary/client.h>

#include "producer/aside.h"
#include "ring/text.h"
#include "ring/wire.h"

#define TRIB_ATTACHMENTS  8u    /* rings of daemons that came one after the other */
#define TRIB_SENT         1024u /* signatures and modules that were sent a moment ago */
#define TRIB_ADDRESS_MAX  108u  /* struct sockaddr_un */
#define TRIB_ERRAND_BYTES 1536u /* join.c */

/* A ring and a table as one daemon gave them. Written before it becomes current; a thread that found it current may use
 * it long after, so its memory stays mapped, and is used again only after TRIB_RETIRED_NS. */
struct trib_attachment {
    struct trib_ring ring;
    struct trib_text_ring texts;
    struct trib_ring_head *head;
    const struct trib_shared_table *table;
    uint64_t ring_bytes, table_bytes;
    uint64_t epoch;
    uint64_t seal;       /* hash of all that stands before; nothing of it changes while this is current */
    uint64_t retired_ns; /* 0 = never used, or current */
    uint16_t program;    /* its number in the daemon, a context's tenant */
};
#define TRIB_RETIRED_NS 10000000000ull

/* Zero again in the child of any fork, which so has no ring: its parent's is not its own. */
struct trib_hand {
    _Atomic(struct trib_attachment *) current;
    _Atomic(uint32_t) joining; /* one thread at a time */
    _Atomic(uint32_t) pid;     /* of the process whose memory this is; 0 = not known yet */
    _Atomic(uint64_t) next_try_ns, backoff_ns;
    _Atomic(uint64_t) missed_events, missed_bytes; /* that no ring took */
    atomic_flag text_busy;
    struct trib_attachment attachments[TRIB_ATTACHMENTS];
    _Atomic(uint64_t) sent[TRIB_SENT];
    _Alignas(16) char errand[TRIB_ERRAND_BYTES];
    _Alignas(16) char stack[TRIB_ASIDE_STACK_BYTES];
};

struct trib_client {
    char address[TRIB_ADDRESS_MAX];
    uint64_t image;
    bool (*may_call)(void); /* see trib_client_guard; NULL: always */
    void (*has_called)(void);
    struct trib_hand *hand;
    _Atomic(struct trib_ring_head *) told; /* as the current attachment has it, for when that does not verify */
};

/* Events, and bytes of the writes among them, that no daemon has taken or counted. */
struct trib_missed {
    uint64_t events, bytes;
};

/* Asks the daemon for a ring, and says what was missed; `into` is filled on success, and keeps its mapping where the
 * sizes are the same. 0, -EALREADY (the daemon of `epoch` lives on: keep what is current), or as trib_client_join. */
int trib_join(struct trib_client *client, uint64_t epoch, const struct trib_missed *missed,
              struct trib_attachment *into);

/* Aside only: the number of a socket that is connected to the daemon, or -errno. */
long trib_connect(const char *address);

#endif
