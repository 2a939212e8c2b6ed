/* SPDX-License-Identifier: Apache-2.0 */
/* The policy seam: who decides the stream. A policy is one constant table of functions; it never sees a drive, it meets
 * one in the flow. Policies come from the engine's own list and from packs: shared objects built against these headers
 * alone and loaded with --policy-pack FILE (docs/howto/policy-pack.md).
 *
 * Thread safety: all functions but place run on the thread of the flow (maintenance thread or replayer) under the
 * state's lock. place may run on any thread, takes no lock, never allocates and cannot fail; with TRIB_NEEDS_LBA it,
 * too, runs on the thread of the flow only, and may change the policy. Tables are constant and outlive every pipeline.
 */
#ifndef TRIBUTARY_POLICY_H
#define TRIBUTARY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/attribute.h>
#include <tributary/error.h>
#include <tributary/event.h>
#include <tributary/options.h>

TRIB_C_BEGIN

/* Grows whenever anything that a policy includes, calls or is called with changes. A pack of another version is
 * refused. */
#define TRIB_POLICY_VERSION 1u

/* What a policy relies on. `trib compare` says so when a trace lacks it. */
enum trib_policy_needs {
    TRIB_NEEDS_SIGNATURE = 1u << 0,
    TRIB_NEEDS_HINT = 1u << 1,
    TRIB_NEEDS_LEVEL = 1u << 2,
    TRIB_NEEDS_LBA = 1u << 3, /* place is then called per block range, after allocation */
    TRIB_NEEDS_TRIM = 1u << 4,
    TRIB_NEEDS_PAGE = 1u << 5,    /* with LBA: place is called for each block of a range */
    TRIB_NEEDS_VSTREAM = 1u << 6, /* virtual streams that the host names */
    TRIB_NEEDS_FUTURE = 1u << 7,  /* when each block will die: only the laboratory knows */
    /* Not a need: place also answers for TRIB_LBA_UNKNOWN, so that an adapter may ask it before blocks
     * are allocated. */
    TRIB_LBA_OPTIONAL = 1u << 8,
    TRIB_NEEDS_KIND = 1u << 9,      /* of the file */
    TRIB_NEEDS_ANY_NAME = 1u << 10, /* a virtual stream, file kind, hint or level: whichever there is */
};

#define TRIB_NEVER           UINT64_MAX

#define TRIB_POLICY_DEFAULT  "pcstream" /* what a pipeline takes when nobody says */
#define TRIB_POLICY_BASELINE "none"     /* what comparisons are relative to: a drive without streams */

/* What a policy is opened on. */
struct trib_policy_env {
    const struct trib_policy *policy; /* the table that is being opened: one made at run time finds itself */
    struct trib_state *state;         /* tributary/attribute.h */
    uint32_t streams;                 /* m: streams a host may name besides S0, so ids are 0..m */
    uint64_t capacity_bytes;          /* exported by the drive; 0 = unknown */
    uint64_t blocks;                  /* logical blocks of the drive, so lba < blocks; 0 = unknown */
    uint64_t reclaim_unit_bytes;      /* 0 = unknown */
    uint64_t usable_blocks;    /* 0..usable_blocks-1 are the host's, the others data of the drive's own. 0 = unknown */
    char gc[16], victim[16];   /* how the drive collects, in the emulated drive's words; "" = unknown */
    uint64_t spare_blocks;     /* over-provisioned: physical - logical; 0 = unknown */
    uint32_t internal_streams; /* valid answers of relocate are 0..internal_streams-1 */
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

/* What a policy by address may also follow below the file system, where addresses are known. Each may be NULL. */
struct trib_policy_blocks {
    /* Blocks that the host trimmed; with TRIB_NEEDS_LBA. */
    void (*discarded)(void *self, uint64_t lba, uint64_t blocks, uint64_t clock_bytes);
    /* After the survivors of a superblock were moved; only an emulated drive tells. */
    void (*reclaimed)(void *self, const struct trib_reclaim *unit);
    /* Bytes of the drive's memory that its mapping cache may take now (DStream section III). */
    uint64_t (*map_cache_bytes)(void *self);
};

/* Where a comparison shows a row of the policy besides, or instead of, the one with its defaults. */
enum trib_variant_use {
    TRIB_VARIANT_FIRST_TABLE = 1u << 0, /* `trib compare` when nobody names policies */
    TRIB_VARIANT_MATRIX = 1u << 1,      /* `trib lab matrix`: ablations */
    TRIB_VARIANT_BEST_OF = 1u << 2,     /* a choice that the best run makes: of these only the best is shown */
    TRIB_VARIANT_STANDS_OUT = 1u << 3,  /* its row is the one that a matrix is about */
};
struct trib_policy_variant {
    const char *label;   /* of the row; NULL: named after the options */
    const char *options; /* "key=value,..." of the policy and the pipeline; "" = the defaults. NULL ends the list */
    uint32_t use;        /* enum trib_variant_use */
};

struct trib_policy {
    const char *name;
    const char *summary; /* one line, <= 60 columns */
    const struct trib_option_spec *options;
    uint32_t needs; /* enum trib_policy_needs, whatever its options are */
    /* Needs with these options, where options change them; may be NULL. */
    uint32_t (*needs_given)(struct trib_options *given);
    const char *gc; /* the destination of survivors that belongs to it (gc=own), by name; NULL: none */
    const struct trib_policy_variant *variants; /* may be NULL */

    int (*open)(void **self, const struct trib_policy_env *env, struct trib_options *options, struct trib_error *error);
    void (*close)(void *self);
    uint16_t (*place)(void *self, const struct trib_placement *write); /* 0..m */
    void (*died)(void *self, const struct trib_death *death);          /* may be NULL */
    /* Internal stream of a survivor, for destinations that ask; may be NULL. */
    uint16_t (*relocate)(void *self, const struct trib_relocation *page);
    /* Called after every write: cheap when nothing is due; may be NULL. */
    void (*tick)(void *self, uint64_t clock_bytes);
    struct trib_policy_blocks blocks;

    /* Status: how often a signature got another stream than before, moves at
     * one moment counted once (FAST'19: 7 in Mixed 1). NULL if it never happens. */
    uint32_t (*reclusterings)(void *self);
    /* Bytes that the policy keeps besides the attribute table; may be NULL. */
    uint64_t (*memory_bytes)(void *self);
};

/* What a pack exports, under the name trib_policy_pack and with default visibility. */
struct trib_policy_pack {
    uint32_t version;                          /* TRIB_POLICY_VERSION */
    const struct trib_policy *const *policies; /* NULL-terminated */
};
#define TRIB_POLICY_PACK_SYMBOL "trib_policy_pack"

/* ---- for programs that open pipelines; before any is open, on one thread ---- */

/* The policies known: the engine's, then those added. NULL-terminated. */
TRIB_EXPORT const struct trib_policy *const *trib_policies(void);
/* By name; NULL + a sentence listing the valid names. */
TRIB_EXPORT const struct trib_policy *trib_policy_find(const char *name, struct trib_error *error);
/* All of a pack's policies or none: 0, -EPROTO (another version), -EINVAL (no policy, or one lacks a name or a
 * function), -EEXIST (a name is taken), -ENOSPC. */
TRIB_EXPORT int trib_policies_add(const struct trib_policy_pack *pack, struct trib_error *error);
/* Loads a shared object, which stays loaded, and adds its pack. As trib_policies_add; -ENOENT, -EACCES (the file);
 * -ENOEXEC (no shared object of this machine, a symbol is missing, or it has no table). */
TRIB_EXPORT int trib_policy_pack_load(const char *path, struct trib_error *error);
/* enum trib_policy_needs with these options ("key=value,...", its own and others'; NULL = the defaults). */
TRIB_EXPORT uint32_t trib_policy_needs(const struct trib_policy *policy, const char *options);

TRIB_C_END
#endif
