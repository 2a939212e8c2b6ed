/* SPDX-License-Identifier: Apache-2.0 */
/* The emulated drives that papers describe, by name. Thread safety: constant data. */
#ifndef TRIB_DRIVE_PRESETS_H
#define TRIB_DRIVE_PRESETS_H

#include "flash/flash.h"

TRIB_C_BEGIN

struct trib_preset {
    const char *name;
    const char *summary;     /* with the source */
    uint64_t capacity_bytes; /* exported */
    double over_provisioning_percent;
    uint64_t superblock_bytes;
    uint32_t streams;         /* besides S0 */
    uint64_t map_cache_bytes; /* 0: the whole mapping table is in memory */
    struct trib_flash_latency latency;
};

/* In the order of TRIB_PRESET_CHOICES, the value list of the option. */
#define TRIB_PRESET_CHOICES "default|small|hotstorage18|pm963|vstream|dstream"
enum { TRIB_PRESET_COUNT = 6 };
extern const struct trib_preset trib_presets[TRIB_PRESET_COUNT];

TRIB_C_END
#endif
