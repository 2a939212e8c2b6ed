/* SPDX-License-Identifier: Apache-2.0 */
/* Paper: vStream-FTL (TCE'21), the synthetic workload of section V: 64 partitions, 48 hot of 2, 8
 * warm of 4 and 8 cold of 16 units (there GB); an endless loop over the partitions, one write each,
 * sequential inside the partition, wrapping at its end; one virtual stream per partition.
 * Models: many writers whose data live exactly as long as their partition is large. By traffic 75 %
 * hot, 12.5 % warm, 12.5 % cold; lifetimes of 128, 256 and 1024 units.
 * Ours: the unit follows from the size; two partitions may change places mid-run (swap_at), which
 * is how two of them change their sizes in a fixed address space. Call paths: one per partition,
 * as one program per partition has. */
#include <errno.h>
#include <stdlib.h>

#include "workload/generator.h"
#include "workload/workloads.h"

#define PARTITIONS 64
#define HOT        48
#define WARM       8
#define UNITS      (HOT * 2 + WARM * 4 + (PARTITIONS - HOT - WARM) * 16)
#define FILL_BYTES (128u << 10)

struct partition {
    uint64_t begin_bytes, length_bytes, next_bytes; /* next: within the partition */
};

struct partitions {
    uint64_t write_bytes, size_bytes, fill_bytes, filled_bytes, swap_clock_bytes;
    double swap_at_percent;
    uint32_t swap_first, swap_second, turn;
    struct partition partitions[PARTITIONS];
    uint64_t paths[PARTITIONS];
};

#define FIELD(name) offsetof(struct partitions, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "write", .type = TRIB_OPTION_SIZE, .offset = FIELD(write_bytes), .fallback = "128K",
     .minimum = TRIB_BLOCK_BYTES, .maximum = 1 << 30, .help = "bytes per write (the paper's 128K)"},
    {.key = "swap_at", .type = TRIB_OPTION_PERCENT, .offset = FIELD(swap_at_percent),
     .fallback = "0", .minimum = 0, .maximum = 100,
     .help = "when two partitions change places, percent of host; 0 = never"},
    {.key = "swap_first", .type = TRIB_OPTION_U32, .offset = FIELD(swap_first), .fallback = "0",
     .minimum = 0, .maximum = PARTITIONS - 1, .help = "one of the two (hot are 0 to 47)"},
    {.key = "swap_second", .type = TRIB_OPTION_U32, .offset = FIELD(swap_second), .fallback = "63",
     .minimum = 0, .maximum = PARTITIONS - 1, .help = "the other (warm 48 to 55, cold 56 to 63)"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

static uint32_t units_of(uint32_t partition) {
    return partition < HOT ? 2 : partition < HOT + WARM ? 4 : 16;
}

static int lay_out(struct partitions *self, uint64_t size_bytes, struct trib_error *error) {
    if (self->write_bytes % TRIB_BLOCK_BYTES)
        return trib_fail(error, -EINVAL, "option 'write': not a multiple of 4096");
    uint64_t unit_bytes = trib_round_down(size_bytes / UNITS, self->write_bytes), at = 0;
    if (!unit_bytes)
        return trib_fail(error, -EINVAL, "option 'size': %d units need at least one write of %llu bytes each", UNITS,
                         (unsigned long long)self->write_bytes);
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        self->partitions[i] = (struct partition){.begin_bytes = at, .length_bytes = units_of(i) * unit_bytes};
        at += self->partitions[i].length_bytes;
        self->paths[i] = trib_hash_mix(trib_path("partitions/writer"), i);
    }
    self->size_bytes = at;
    return 0;
}

static int partitions_open(void **out, const struct trib_workload_common *common, struct trib_options *given,
                           struct trib_error *error) {
    struct partitions *self = calloc(1, sizeof *self);
    if (!self)
        return trib_fail(error, -ENOMEM, "out of memory");
    int rc = trib_options_take(given, options, self, error);
    if (!rc)
        rc = lay_out(self, common->size_bytes, error);
    if (rc) {
        free(self);
        return rc;
    }
    self->fill_bytes = common->fill ? self->size_bytes : 0;
    self->swap_clock_bytes =
        self->swap_at_percent > 0 ? (uint64_t)(self->swap_at_percent / 100 * (double)common->host_bytes) : UINT64_MAX;
    *out = self;
    return 0;
}

static void swap_places(struct partitions *self) {
    struct partition *first = &self->partitions[self->swap_first];
    struct partition *second = &self->partitions[self->swap_second], kept = *first;

    *first = *second;
    *second = kept;
    self->swap_clock_bytes = UINT64_MAX;
}

static int partitions_next(void *handle, uint64_t clock_bytes, struct trib_event *event) {
    struct partitions *self = handle;
    uint32_t number = self->turn;

    if (self->filled_bytes < self->fill_bytes) {
        struct partition *partition = &self->partitions[number];
        uint64_t left = partition->length_bytes - partition->next_bytes;
        uint64_t length = left < FILL_BYTES ? left : FILL_BYTES;
        trib_event_write(event, 0, partition->begin_bytes + partition->next_bytes, length);
        partition->next_bytes = (partition->next_bytes + length) % partition->length_bytes;
        self->filled_bytes += length;
        self->turn = (number + !partition->next_bytes) % PARTITIONS;
    } else {
        if (clock_bytes >= self->swap_clock_bytes)
            swap_places(self);
        struct partition *partition = &self->partitions[number];
        trib_event_write(event, 0, partition->begin_bytes + partition->next_bytes, self->write_bytes);
        partition->next_bytes = (partition->next_bytes + self->write_bytes) % partition->length_bytes;
        self->turn = (number + 1) % PARTITIONS;
    }
    event->stream = (uint16_t)number;
    event->who.signature = self->paths[number];
    return 1;
}

static void partitions_describe(const void *handle, struct trib_workload_description *out) {
    const struct partitions *self = handle;

    out->size_bytes = self->size_bytes;
    out->fill_bytes = self->fill_bytes;
}

const struct trib_workload_kind trib_workload_partitions = {
    .name = "partitions",
    .summary = "vStream's 64 partitions, written round robin",
    .options = options,
    .carries = TRIB_CARRIES_SIGNATURE | TRIB_CARRIES_VSTREAM | TRIB_CARRIES_ADDRESS,
    .open = partitions_open,
    .next = partitions_next,
    .describe = partitions_describe,
    .close = free,
};
