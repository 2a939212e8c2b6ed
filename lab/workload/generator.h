/* SPDX-License-Identifier: Apache-2.0 */
/* What generators share: blank events, writes and deaths, and names of call paths. Pure functions.
 */
#ifndef TRIB_WORKLOAD_GENERATOR_H
#define TRIB_WORKLOAD_GENERATOR_H

#include "base/hash.h"
#include "workload/random.h"
#include "workload/workload.h"

/* The call path "workload/activity" of a program. Two tenants of one program have one id, because
 * signatures are those of code; see trib_event.who.tenant. */
uint64_t trib_path(const char *name);

static inline struct trib_event trib_event_blank(void) {
    struct trib_event event = {.stream = TRIB_STREAM_UNDECIDED};
    event.who.io_activity = TRIB_ACTIVITY_UNKNOWN;
    event.who.level = TRIB_LEVEL_UNKNOWN;
    return event;
}

static inline void trib_event_write(struct trib_event *event, uint64_t file, uint64_t offset_bytes,
                                    uint64_t length_bytes) {
    event->kind = TRIB_EVENT_WRITE;
    event->file = file;
    event->offset_bytes = offset_bytes;
    event->length_bytes = length_bytes;
}

static inline void trib_event_unlink(struct trib_event *event, uint64_t file) {
    event->kind = TRIB_EVENT_DEATH;
    event->cause = TRIB_CAUSE_UNLINK;
    event->file = file;
    event->offset_bytes = 0;
    event->length_bytes = TRIB_LENGTH_TO_END;
}

static inline uint64_t trib_round_down(uint64_t value, uint64_t unit) {
    return value - value % unit;
}

#endif
