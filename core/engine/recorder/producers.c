/* SPDX-License-Identifier: Apache-2.0 */
/* The table of processes that are joined. The recorder's owner's. */
#include <string.h>

#include "recorder/source.h"

static bool shows_before(const struct trib_status_producer *a, const struct trib_status_producer *b) {
    return a->events_dropped != b->events_dropped ? a->events_dropped > b->events_dropped : a->bytes > b->bytes;
}

uint32_t trib_recorder_producers(const struct trib_recorder *recorder, struct trib_status_producer *out,
                                 uint32_t capacity) {
    uint32_t used = atomic_load(&recorder->sources_used), total = 0;

    for (uint32_t i = 0; i < used; i++) {
        const struct trib_source *source = &recorder->sources[i];
        if (atomic_load_explicit(&source->state, memory_order_acquire) != TRIB_SOURCE_TAKEN)
            continue;
        struct trib_status_producer row = {.pid = (uint32_t)source->pid,
                                           .user = source->user,
                                           .broken = source->counted_broken,
                                           .damaged = source->damaged,
                                           .events = source->events,
                                           .bytes = source->bytes,
                                           .events_dropped = source->counted_events,
                                           .bytes_dropped = source->counted_bytes};
        memcpy(row.program, recorder->programs[source->program], sizeof row.program - 1);
        uint32_t at = total < capacity ? total : capacity;
        total++;
        while (at > 0 && shows_before(&row, &out[at - 1]))
            at--;
        if (at == capacity)
            continue;
        memmove(&out[at + 1], &out[at], ((total < capacity ? total : capacity) - 1 - at) * sizeof *out);
        out[at] = row;
    }
    return total;
}
