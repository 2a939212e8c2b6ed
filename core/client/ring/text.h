/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of texts beside a process's ring of events: file names, call paths, modules, the program's name. One record
 * at a time: its producers take turns, its consumer is the recorder, which checks each length before it believes it. */
#ifndef TRIB_SESSION_TEXT_H
#define TRIB_SESSION_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/signature.h>

#include "ring/wire.h"

#define TRIB_TEXT_RECORD_BYTES_MAX 2048u /* body */
#define TRIB_TEXT_PATH_BYTES_MAX   1023u /* a longer path keeps its end, which tells more than its beginning */

enum trib_text_kind {
    TRIB_TEXT_NAME = 1,      /* id: file; body: path */
    TRIB_TEXT_SIGNATURE = 2, /* id: signature; body: trib_text_frame[] */
    TRIB_TEXT_MODULE = 3,    /* id: trib_text_module_key; body: struct trib_module */
    TRIB_TEXT_UNCOVERED = 4, /* id: enum trib_uncovered; body: path of a program that is being started */
};

struct trib_text_head {
    uint32_t body_bytes;
    uint32_t kind; /* enum trib_text_kind */
    uint64_t id;
};

struct trib_text_frame {
    uint64_t build_id, offset_bytes, module_key;
};

/* Identity of a module over all processes of a session. Never 0. */
uint64_t trib_text_module_key(const struct trib_module *module);

struct trib_text_ring {
    uint8_t *bytes;
    struct trib_ring_head *head; /* has both ends */
};

/* False: no room. One caller at a time. */
bool trib_text_put(struct trib_text_ring *ring, enum trib_text_kind kind, uint64_t id, const void *body,
                   uint32_t body_bytes);

/* 1: a record, copied to head and body (TRIB_TEXT_RECORD_BYTES_MAX), *position moved on; 0: none; -EBADMSG: damaged,
 * and *position is where `end` says. The recorder keeps the position; `end` is the tail as read once. */
int trib_text_take(const struct trib_text_ring *ring, uint64_t *position, uint64_t end, struct trib_text_head *head,
                   uint8_t *body);

#endif
