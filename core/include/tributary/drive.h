/* SPDX-License-Identifier: Apache-2.0 */
/* The drive seam: who takes the write. A drive never sees a policy; garbage collection of an emulated one asks through
 * a callback. A registry entry has groups of functions, one for each way to reach it; a NULL group is a way it does not
 * have. Thread safety: calls come from one thread at a time. */
#ifndef TRIBUTARY_DRIVE_H
#define TRIBUTARY_DRIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tributary/error.h>
#include <tributary/options.h>

TRIB_C_BEGIN

/* Grows whenever anything below changes. */
#define TRIB_DRIVE_VERSION 2u

/* Destination (internal stream number) of a page under collection. `stream` is the external one that the host wrote it
 * to; `victim_class` the victim's internal stream, or its external one. */
typedef uint16_t trib_relocate_fn(void *arg, uint64_t lba, uint16_t stream, uint16_t victim_class, bool internal);

/* A superblock was collected; ages in host blocks since it was opened and closed. */
typedef void trib_reclaimed_fn(void *arg, uint16_t stream, bool internal, uint64_t opened_age, uint64_t closed_age);

/* What a drive is opened for. */
struct trib_drive_env {
    const struct trib_drive *drive; /* the table that is being opened: one made at run time finds itself */
    uint32_t streams;               /* wanted besides S0; a drive with fewer maps the rest to S0 and counts them */
    const char *own_gc;             /* destination of survivors that belongs to the policy (gc=own); NULL: none */
    trib_relocate_fn *relocate;     /* may be NULL */
    trib_reclaimed_fn *reclaimed;   /* may be NULL */
    void *gc_arg;                   /* of both */
};

struct trib_drive_description {
    char name[32];
    uint64_t capacity_bytes;     /* exported */
    uint64_t usable_blocks;      /* blocks 0.. that a volume may allocate; the rest is cold data of the drive's own */
    uint64_t reclaim_unit_bytes; /* erased together */
    uint64_t reclaim_units;      /* physical */
    uint32_t streams;            /* besides S0, as granted */
    uint32_t internal_streams;   /* that relocate may name; 0 = relocate is not asked */
    uint64_t physical_bytes;
    double over_provisioning_percent;
    char gc[16], victim[16]; /* names of the emulated drive's choices; "" elsewhere */
    uint8_t level;           /* enum trib_placement_level (tributary/pipeline.h) */
    char evidence[128];
};

struct trib_drive_stats {
    uint64_t host_pages, gc_pages, erases, discarded_pages, read_pages;
    uint64_t metadata_pages, metadata_read_pages;      /* programs and reads of translation pages */
    uint64_t map_lookups, map_misses, map_cache_bytes; /* by the host; 0 without a mapping cache */
    uint64_t streams_remapped;                         /* pages written to streams that the drive does not have */
    uint32_t streams_used;                             /* external streams that ever got a write */
    uint32_t open_units_peak;                          /* superblocks open at once, at most */
    uint64_t live_pages, live_pages_peak;              /* valid now, and at most */
    double waf;                                        /* 0 = unknown */
    double virtual_seconds;                            /* latency model; 0 = off */
};

/* One stream of a drive, an internal one if only garbage collection writes it. */
struct trib_drive_stream_stats {
    uint64_t host_pages;                /* the host named this stream */
    uint64_t gc_pages_out, gc_pages_in; /* copied out of its superblocks, and into them */
    uint64_t superblocks, valid_pages;  /* now: closed and open ones, and what is valid in them */
};

/* Shadow: addresses and streams of a model, no data. lba and blocks in TRIB_BLOCK_BYTES. */
struct trib_drive_model {
    int (*write)(void *self, uint64_t lba, uint32_t blocks, uint16_t stream); /* 0, -EINVAL (range), -ENOSPC, -EIO */
    int (*discard)(void *self, uint64_t lba, uint64_t blocks);
    int (*read)(void *self, uint64_t lba, uint32_t blocks);
    int (*dump)(void *self, FILE *out); /* JSON state for plots; may be NULL */
    /* How much of the mapping table the drive keeps in memory, bytes; may be NULL. */
    void (*resize_map_cache)(void *self, uint64_t bytes);
};

struct trib_drive {
    const char *name;
    const char *summary;
    const struct trib_option_spec *options;

    int (*open)(void **self, const struct trib_drive_env *env, struct trib_options *options, struct trib_error *error);
    int (*close)(void *self);
    void (*describe)(void *self, struct trib_drive_description *out);
    void (*stats)(void *self, struct trib_drive_stats *out);
    /* 0, -EINVAL (no such stream). May be NULL: real drives keep no such account. */
    int (*stream_stats)(void *self, uint16_t stream, bool internal, struct trib_drive_stream_stats *out);
    const struct trib_drive_model *model;
};

/* NULL-terminated list, and look-up by name (NULL + a sentence listing the valid names). */
TRIB_EXPORT const struct trib_drive *const *trib_drives(void);
TRIB_EXPORT const struct trib_drive *trib_drive_find(const char *name, struct trib_error *error);

TRIB_C_END
#endif
