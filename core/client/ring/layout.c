/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/layout.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/options.h"

#define PAGE_BYTES 4096u

static uint64_t whole_pages(uint64_t bytes) {
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static uint64_t checksum_of(const struct trib_session_geometry *geometry) {
    return trib_hash(geometry, offsetof(struct trib_session_geometry, checksum));
}

void trib_session_geometry_fill(struct trib_session_geometry *geometry, uint32_t ring_events) {
    *geometry = (struct trib_session_geometry){.version = TRIB_SESSION_VERSION, .ring_events = ring_events};
    memcpy(geometry->magic, TRIB_SESSION_MAGIC, sizeof geometry->magic);
    geometry->slot_bytes = whole_pages(trib_ring_bytes(ring_events)) + TRIB_SESSION_TEXT_BYTES;
    geometry->rings_at = whole_pages(sizeof(struct trib_session_header));
    geometry->total_bytes = geometry->rings_at + TRIB_SESSION_SLOTS * geometry->slot_bytes;
    geometry->checksum = checksum_of(geometry);
}

int trib_session_geometry_check(const struct trib_session_geometry *geometry, uint64_t file_bytes,
                                struct trib_error *error) {
    struct trib_session_geometry expected;

    if (memcmp(geometry->magic, TRIB_SESSION_MAGIC, sizeof geometry->magic) != 0)
        return trib_fail(error, -EPROTO, "not a session file");
    if (geometry->checksum != checksum_of(geometry))
        return trib_fail(error, -EPROTO, "the header is damaged");
    uint32_t events = geometry->ring_events;
    if (geometry->version != TRIB_SESSION_VERSION)
        return trib_fail(error, -EPROTO, "a session of version %u; this library knows %u", geometry->version,
                         TRIB_SESSION_VERSION);
    if (events < 1024 || events > 1u << 20 || (events & (events - 1)) != 0)
        return trib_fail(error, -EPROTO, "the header is damaged");
    trib_session_geometry_fill(&expected, events);
    if (memcmp(geometry, &expected, sizeof expected) != 0 || file_bytes != expected.total_bytes)
        return trib_fail(error, -EPROTO, "the session file has another size than its header says");
    return 0;
}

uint64_t trib_session_now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
