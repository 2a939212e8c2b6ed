/* SPDX-License-Identifier: Apache-2.0 */
/* Several tenants on one drive: each runs a workload of its own in files of its own, an equal share
 * of the space and of the writes; bursts of one and the other take turns at random. Tenants of one
 * kind run the same program, so their call paths are the same and only the tenant number tells them
 * apart; what lives long for one need not for the other. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "workload/generator.h"
#include "workload/workloads.h"

#define TENANTS_MAX 64
#define FILE_SHIFT  40 /* a tenant's files are numbered from (tenant + 1) << FILE_SHIFT */
#define NO_END      "800P"

/* Bits of `mix`, in this order round robin over the tenants. */
static const struct {
    const char *workload, *options;
} kinds[] = {
    {"lsm", "memtable=256K,target=256K,base=2M,multiplier=5"},
    {"builds", ""},
    {"wal-pages", "log=2M"},
    {"zipf", ""},
    {"lsm", "memtable=256K,target=256K,compaction=universal,size_amp=50"},
    {"lsm", "memtable=1M,target=256K,base=2M,multiplier=5,blobs=on"},
};
#define KIND_CHOICES "lsm|builds|wal-pages|zipf|universal|blobs"

struct settings {
    uint32_t tenants, mix;
    uint64_t burst_bytes;
};

struct tenant {
    struct trib_workload *workload;
    uint64_t fill_bytes;
    int64_t credit_bytes; /* may go below 0: a write is never cut (deficit round robin) */
};

struct tenants {
    struct settings settings;
    struct trib_random random;
    struct tenant tenants[TENANTS_MAX];
    uint32_t turn, filled;
    uint64_t size_bytes, fill_bytes;
    uint32_t carries;
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "tenants", .type = TRIB_OPTION_U32, .offset = FIELD(tenants), .fallback = "2",
     .minimum = 1, .maximum = TENANTS_MAX, .help = "how many"},
    {.key = "mix", .type = TRIB_OPTION_FLAGS, .offset = FIELD(mix),
     .fallback = "lsm+builds+wal-pages+zipf", .choices = KIND_CHOICES,
     .help = "what they run, round robin in this order"},
    {.key = "burst", .type = TRIB_OPTION_SIZE, .offset = FIELD(burst_bytes), .fallback = "64K",
     .minimum = TRIB_BLOCK_BYTES, .maximum = 1 << 30, .help = "bytes until another's turn"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

static void tenants_close(void *handle) {
    struct tenants *self = handle;

    for (uint32_t i = 0; i < TENANTS_MAX; i++)
        trib_workload_close(self->tenants[i].workload);
    free(self);
}

/* The tenant's kind: the n-th bit that is set, n counted round. */
static uint32_t kind_of(uint32_t mix, uint32_t tenant) {
    uint32_t wanted = tenant % (uint32_t)__builtin_popcount(mix);

    for (uint32_t kind = 0;; kind++)
        if (mix >> kind & 1 && wanted-- == 0)
            return kind;
}

static int open_tenant(struct tenants *self, uint32_t number, const struct trib_workload_common *common,
                       struct trib_error *error) {
    struct tenant *tenant = &self->tenants[number];
    struct trib_workload_description description;
    uint32_t kind = kind_of(self->settings.mix, number);
    uint64_t seed = trib_hash_mix(common->seed, number + 1);
    char text[256];

    snprintf(text, sizeof text, "size=%" PRIu64 ",host=" NO_END ",fill=%s,seed=%" PRIu64 "%s%s",
             trib_round_down(common->size_bytes / self->settings.tenants, TRIB_BLOCK_BYTES),
             common->fill ? "on" : "off", seed, *kinds[kind].options ? "," : "", kinds[kind].options);
    int rc = trib_workload_open(&tenant->workload, kinds[kind].workload, text, error);
    if (rc)
        return rc;
    trib_workload_describe(tenant->workload, &description);
    tenant->fill_bytes = description.fill_bytes;
    self->fill_bytes += description.fill_bytes;
    self->carries |= description.carries & ~(uint32_t)TRIB_CARRIES_ADDRESS;
    return 0;
}

static int tenants_open(void **out, const struct trib_workload_common *common, struct trib_options *given,
                        struct trib_error *error) {
    struct settings settings;
    int rc = trib_options_take(given, options, &settings, error);
    if (!rc && !settings.mix)
        rc = trib_fail(error, -EINVAL, "option 'mix': at least one of " KIND_CHOICES);
    if (rc)
        return rc;
    struct tenants *self = calloc(1, sizeof *self);
    if (!self)
        return trib_fail(error, -ENOMEM, "out of memory");
    self->settings = settings;
    self->size_bytes = common->size_bytes;
    trib_random_seed(&self->random, common->seed);
    for (uint32_t i = 0; i < settings.tenants && !rc; i++)
        rc = open_tenant(self, i, common, error);
    if (rc)
        tenants_close(self);
    else
        *out = self;
    return rc;
}

/* The fills one after the other, then bursts. */
static void choose_turn(struct tenants *self) {
    while (self->filled < self->settings.tenants) {
        const struct tenant *tenant = &self->tenants[self->filled];
        self->turn = self->filled;
        if (trib_workload_position(tenant->workload) < tenant->fill_bytes)
            return;
        self->filled++;
    }
    while (self->tenants[self->turn].credit_bytes <= 0) {
        self->turn = trib_random_below(&self->random, self->settings.tenants);
        self->tenants[self->turn].credit_bytes += (int64_t)self->settings.burst_bytes;
    }
}

static int tenants_next(void *handle, uint64_t clock_bytes, struct trib_event *event) {
    struct tenants *self = handle;
    (void)clock_bytes;

    choose_turn(self);
    int rc = trib_workload_next(self->tenants[self->turn].workload, event);
    if (rc < 0)
        return rc;
    event->file |= (uint64_t)(self->turn + 1) << FILE_SHIFT;
    event->thread |= self->turn << 8;
    event->who.tenant = (uint16_t)self->turn;
    if (event->kind == TRIB_EVENT_WRITE && self->filled == self->settings.tenants)
        self->tenants[self->turn].credit_bytes -= (int64_t)event->length_bytes;
    return 1;
}

static void tenants_describe(const void *handle, struct trib_workload_description *out) {
    const struct tenants *self = handle;

    out->size_bytes = self->size_bytes;
    out->fill_bytes = self->fill_bytes;
    out->tenants = self->settings.tenants;
    out->carries = self->carries;
}

const struct trib_workload_kind trib_workload_tenants = {
    .name = "tenants",
    .summary = "several workloads side by side on one drive",
    .options = options,
    .carries = TRIB_CARRIES_SIGNATURE | TRIB_CARRIES_TRIM,
    .open = tenants_open,
    .next = tenants_next,
    .describe = tenants_describe,
    .close = tenants_close,
};
