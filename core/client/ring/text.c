/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/text.h"

#include <errno.h>
#include <string.h>

#define RING_MASK (TRIB_TEXT_RING_BYTES - 1)

uint64_t trib_text_module_key(const struct trib_module *module) {
    /* A seed first: of a name that is all there is, both hashes are the same, and would cancel each other. */
    uint64_t seeded = trib_hash_mix(0x6d6f64756c65ull, module->build_id_hash);
    uint64_t key = trib_hash_mix(seeded, trib_hash(module->path, strnlen(module->path, 255)));

    return key ? key : 1;
}

static uint64_t record_bytes(uint32_t body_bytes) {
    return sizeof(struct trib_text_head) + (((uint64_t)body_bytes + 7) & ~7ull);
}

static void copy_in(struct trib_text_ring *ring, uint64_t at, const void *from, size_t count) {
    size_t start = at & RING_MASK, first = TRIB_TEXT_RING_BYTES - start;

    if (first > count)
        first = count;
    memcpy(ring->bytes + start, from, first);
    memcpy(ring->bytes, (const uint8_t *)from + first, count - first);
}

static void copy_out(const struct trib_text_ring *ring, uint64_t at, void *to, size_t count) {
    size_t start = at & RING_MASK, first = TRIB_TEXT_RING_BYTES - start;

    if (first > count)
        first = count;
    memcpy(to, ring->bytes + start, first);
    memcpy((uint8_t *)to + first, ring->bytes, count - first);
}

bool trib_text_put(struct trib_text_ring *ring, enum trib_text_kind kind, uint64_t id, const void *body,
                   uint32_t body_bytes) {
    struct trib_text_head head = {.body_bytes = body_bytes, .kind = kind, .id = id};
    uint64_t tail = atomic_load_explicit(&ring->head->text_tail, memory_order_relaxed);
    uint64_t used = tail - atomic_load_explicit(&ring->head->text_head, memory_order_acquire);

    if (body_bytes > TRIB_TEXT_RECORD_BYTES_MAX || used > TRIB_TEXT_RING_BYTES ||
        record_bytes(body_bytes) > TRIB_TEXT_RING_BYTES - used)
        return false;
    copy_in(ring, tail, &head, sizeof head);
    copy_in(ring, tail + sizeof head, body, body_bytes);
    atomic_store_explicit(&ring->head->text_tail, tail + record_bytes(body_bytes), memory_order_release);
    return true;
}

int trib_text_take(const struct trib_text_ring *ring, uint64_t *position, uint64_t end, struct trib_text_head *head,
                   uint8_t *body) {
    uint64_t waiting = end - *position;

    if (waiting == 0)
        return 0;
    if (waiting > TRIB_TEXT_RING_BYTES || waiting < sizeof *head)
        goto damaged;
    copy_out(ring, *position, head, sizeof *head);
    if (head->body_bytes > TRIB_TEXT_RECORD_BYTES_MAX || record_bytes(head->body_bytes) > waiting)
        goto damaged;
    copy_out(ring, *position + sizeof *head, body, head->body_bytes);
    *position += record_bytes(head->body_bytes);
    return 1;
damaged:
    *position = end;
    return -EBADMSG;
}
