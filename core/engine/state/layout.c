/* SPDX-License-Identifier: Apache-2.0 */
#include "state/region.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "base/options.h"

static uint64_t page_aligned(uint64_t bytes) {
    return (bytes + 4095) & ~4095ull;
}

/* At most one row per two buckets, so that a look-up seldom meets a second row. */
static uint32_t buckets_for(uint32_t attributes) {
    uint32_t buckets = 16;
    while (buckets < 2 * attributes)
        buckets *= 2;
    return buckets;
}

void trib_state_geometry_fill(struct trib_state_geometry *geometry, uint32_t attributes, uint32_t runs) {
    memset(geometry, 0, sizeof *geometry);
    memcpy(geometry->magic, TRIB_STATE_MAGIC, sizeof geometry->magic);
    geometry->version = TRIB_STATE_VERSION;
    geometry->header_bytes = TRIB_STATE_HEADER_BYTES;
    geometry->byte_order = TRIB_STATE_BYTE_ORDER;
    geometry->retired = TRIB_STATE_RETIRED;
    geometry->row_bytes = sizeof(struct trib_attribute);
    geometry->slot_bytes = TRIB_STATE_SLOT_BYTES;
    geometry->attributes = attributes;
    geometry->buckets = buckets_for(attributes);
    geometry->runs = runs;
    geometry->rows_offset = TRIB_STATE_HEADER_BYTES;
    geometry->buckets_offset =
        geometry->rows_offset + page_aligned((uint64_t)attributes * sizeof(struct trib_attribute));
    geometry->heap_offset = geometry->buckets_offset + page_aligned((uint64_t)geometry->buckets * sizeof(uint32_t));
    geometry->slots_offset = geometry->heap_offset + page_aligned((uint64_t)attributes * sizeof(uint32_t));
    geometry->total_bytes = geometry->slots_offset + page_aligned((uint64_t)runs * TRIB_STATE_SLOT_BYTES);
    geometry->checksum = trib_hash(geometry, offsetof(struct trib_state_geometry, checksum));
}

void trib_state_bind(struct trib_state *state, void *region, const struct trib_state_geometry *geometry) {
    char *base = region;

    state->header = region;
    state->rows = (struct trib_attribute *)(base + geometry->rows_offset);
    state->buckets = (_Atomic(uint32_t) *)(base + geometry->buckets_offset);
    state->heap = (uint32_t *)(base + geometry->heap_offset);
    state->slots = base + geometry->slots_offset;
    state->total_bytes = geometry->total_bytes;
    state->attributes = geometry->attributes;
    state->bucket_mask = geometry->buckets - 1;
    state->runs = geometry->runs;
}

static int check_identity(const struct trib_state_geometry *geometry, struct trib_error *error) {
    if (memcmp(geometry->magic, TRIB_STATE_MAGIC, sizeof geometry->magic) != 0)
        return trib_fail(error, -EPROTO, "offset 0: not a Tributary state file");
    if (geometry->byte_order != TRIB_STATE_BYTE_ORDER)
        return trib_fail(error, -EPROTO, "offset %zu: written by a machine of another byte order",
                         offsetof(struct trib_state_geometry, byte_order));
    if (geometry->version != TRIB_STATE_VERSION)
        return trib_fail(error, -EPROTO, "offset %zu: format version %" PRIu32 ", this program reads %u",
                         offsetof(struct trib_state_geometry, version), geometry->version, TRIB_STATE_VERSION);
    return 0;
}

int trib_state_geometry_check(const struct trib_state_geometry *geometry, uint64_t bytes, struct trib_error *error) {
    struct trib_state_geometry expected;
    int rc = check_identity(geometry, error);

    if (rc)
        return rc;
    if (geometry->checksum != trib_hash(geometry, offsetof(struct trib_state_geometry, checksum)))
        return trib_fail(error, -EBADMSG, "offset %zu: checksum of the header does not match",
                         offsetof(struct trib_state_geometry, checksum));
    if (geometry->attributes < 1 || geometry->attributes > TRIB_STATE_ATTRIBUTES_MAX)
        return trib_fail(error, -EBADMSG, "offset %zu: %" PRIu32 " attributes, 1 to %u are possible",
                         offsetof(struct trib_state_geometry, attributes), geometry->attributes,
                         TRIB_STATE_ATTRIBUTES_MAX);
    if (geometry->runs < 1 || geometry->runs > TRIB_STATE_RUNS_MAX)
        return trib_fail(error, -EBADMSG, "offset %zu: %" PRIu32 " runs, 1 to %u are possible",
                         offsetof(struct trib_state_geometry, runs), geometry->runs, TRIB_STATE_RUNS_MAX);
    trib_state_geometry_fill(&expected, geometry->attributes, geometry->runs);
    if (memcmp(geometry, &expected, sizeof expected) != 0)
        return trib_fail(error, -EBADMSG,
                         "offset %zu: sections are not where %" PRIu32 " attributes and "
                         "%" PRIu32 " runs put them",
                         offsetof(struct trib_state_geometry, rows_offset), geometry->attributes, geometry->runs);
    if (bytes != geometry->total_bytes)
        return trib_fail(error, -EBADMSG,
                         "offset %" PRIu64 ": the file ends here, its header says at "
                         "%" PRIu64,
                         bytes, geometry->total_bytes);
    return 0;
}
