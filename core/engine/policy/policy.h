/* SPDX-License-Identifier: Apache-2.0 */
/* The policy seam: who decides the stream. One file per policy; registry.c is the only list. A
 * policy never sees a drive; it meets one in pipeline.c. Six functions, and below them what only
 * some policies are told and what a person may ask; those may be NULL. All but place run on the
 * maintenance thread (or the replayer) under trib_state_lock. place may run on any thread, takes no
 * lock, never allocates and cannot fail; with TRIB_NEEDS_LBA it, too, runs on the maintenance
 * thread only, and may change the policy. */
#ifndef TRIB_POLICY_POLICY_H
#define TRIB_POLICY_POLICY_H

#include <stdint.h>

#include "base/options.h"
#include "lifetime/extents.h"
#include "state/state.h"

TRIB_C_BEGIN

/* What a policy relies on. `trib compare` says so when a trace lacks it. */
enum trib_policy_needs {
    TRIB_NEEDS_SIGNATURE = 1u << 0,
    TRIB_NEEDS_HINT = 1u << 1,
    TRIB_NEEDS_LEVEL = 1u << 2,
    TRIB_NEEDS_LBA = 1u << 3, /* place is then called per block range, after allocation */
    TRIB_NEEDS_TRIM = 1u << 4,
    TRIB_NEEDS_PAGE = 1u << 5,    /* with LBA: place is called for each block of a range */
    TRIB_NEEDS_VSTREAM = 1u << 6, /* virtual streams that the host names */
    TRIB_NEEDS_FUTURE = 1u << 7,  /* when each block will die: replays only */
    /* Not a need: place also answers for TRIB_LBA_UNKNOWN, so that an adapter may ask it before blocks
     * are allocated. */
    TRIB_LBA_OPTIONAL = 1u << 8,
    TRIB_NEEDS_KIND = 1u << 9, /* of the file */
};

struct trib_policy_env {
    struct trib_state *state;
    uint32_t streams;        /* m: streams a host may name besides S0, so ids are 0..m */
    uint64_t capacity_bytes; /* exported by the drive; 0 = unknown */
    uint64_t blocks;         /* logical blocks of the drive, so lba < blocks; 0 = unknown */
    uint64_t reclaim_unit_bytes; /* 0 = unknown */
    uint64_t usable_blocks; /* of those, 0..usable_blocks-1 are the host's; the others hold data of
                               the drive's own. 0 = unknown */
    char gc[16], victim[16]; /* how the drive collects, in the emulated drive's words; "" = unknown */
    uint64_t spare_blocks;       /* over-provisioned: physical - logical; 0 = unknown */
    uint32_t internal_streams;   /* valid answers of relocate are 0..internal_streams-1 */
};

/* One write as a policy sees it. */
struct trib_placement {
    struct trib_context who;
    trib_attribute_ref attribute; /* row of the salted signature, 0 = none */
    uint32_t thread;
    uint64_t file, offset_bytes, length_bytes;
    uint64_t lba; /* TRIB_LBA_UNKNOWN unless the policy needs it */
    uint64_t clock_bytes;
    uint16_t vstream; /* as the host named it, or TRIB_STREAM_UNDECIDED */
    /* With TRIB_NEEDS_LBA: blocks that reached the drive before this one, and with
     * TRIB_NEEDS_FUTURE that count at the block's death (TRIB_NEVER: it does not die). */
    uint64_t block_clock, death_block;
};
#define TRIB_NEVER UINT64_MAX

/* A page that garbage collection moves: where should it go?  */
struct trib_relocation {
    uint64_t lba;
    uint64_t clock_bytes, block_clock;
    uint16_t stream;       /* external stream the host wrote it to */
    uint16_t victim_class; /* internal stream of the victim, or its external one */
    bool victim_internal;
};

/* A superblock that garbage collection has emptied. */
struct trib_reclaim {
    uint16_t stream; /* external or internal, as `internal` says */
    bool internal;
    uint64_t opened_age, closed_age; /* host blocks written since then */
};

struct trib_policy {
    const char *name;
    const char *summary; /* one line, <= 60 columns */
    const struct trib_option_spec *options;
    uint32_t needs;      /* enum trib_policy_needs */
    bool wants_internal; /* defaults to gc=twin */

    int (*open)(void **self, const struct trib_policy_env *env, struct trib_options *options,
                struct trib_error *error);
    void (*close)(void *self);
    uint16_t (*place)(void *self, const struct trib_placement *write); /* 0..m */
    void (*died)(void *self, const struct trib_death *death);          /* may be NULL */
    /* Internal stream of a survivor, for gc=class and gc=pstream; may be NULL. */
    uint16_t (*relocate)(void *self, const struct trib_relocation *page);
    /* Called after every write: cheap when nothing is due; may be NULL. */
    void (*tick)(void *self, uint64_t clock_bytes);
    /* Blocks below the file system that the host trimmed; with TRIB_NEEDS_LBA. */
    void (*discarded)(void *self, uint64_t lba, uint64_t blocks, uint64_t clock_bytes);
    /* After the survivors of a superblock were moved. */
    void (*reclaimed)(void *self, const struct trib_reclaim *unit);
    /* Bytes of the drive's memory that its mapping cache may take now (DStream section III). */
    uint64_t (*map_cache_bytes)(void *self);

    /* Status: how often a signature got another stream than before, moves at
     * one moment counted once (FAST'19: 7 in Mixed 1). NULL if it never happens. */
    uint32_t (*reclusterings)(void *self);
    /* Bytes that the policy keeps besides the attribute table. */
    uint64_t (*memory_bytes)(void *self);
};

/* NULL-terminated list of the engine's policies and of those added. */
const struct trib_policy *const *trib_policies(void);
/* Adds a NULL-terminated pack, before any pipeline is open. 0, -EEXIST (a name is taken), -ENOSPC. */
int trib_policies_add(const struct trib_policy *const *pack, struct trib_error *error);
/* By name; NULL + a sentence listing the valid names. */
const struct trib_policy *trib_policy_find(const char *name, struct trib_error *error);

TRIB_C_END
#endif
