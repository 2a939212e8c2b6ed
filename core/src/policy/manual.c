/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       ManualStream (Kang et al., HotStorage'14; Yang et al.'s RocksDB streams; FAST'19
 *             section 6.1): a person who knows RocksDB gives each kind of data a stream.
 * Idea        File kind and LSM level -> stream, by a table. Option `map`:
 *             level  S1 WAL, S2 L0, S3 L1, S4 L2, S5 L3, S6 L4 and deeper
 *             hs8    S1 WAL, S2 MANIFEST, S3 L0, S4 L1, S5 L2, S6 L3, S7 deeper
 *             3way   S1 WAL, S2 MANIFEST, S3 table files
 *             hint   write hint - 1
 *             host   what the host itself named (virtual stream v -> S(v + 1))
 *             Everything else is S0; by level, so are table files of unknown level.
 * Uses        File kind, level (map=level and hs8), write hint (map=hint).
 * Constants   level: ours, after FAST'19 Fig. 2, where gains end at six streams. hs8 and 3way: the
 *             HotStorage'18 emulator, which counts levels from the memtable; its two free numbers
 *             (2 and 7) given to MANIFEST and deeper levels by us.
 * Deviations  FAST'19 gives no table. A drive with too few streams gets them in turn: S1 again
 *             after the last.
 * Cost        Two table look-ups per write. */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "policy/policies.h"

#define LEVELS 5 /* L0..L3, and deeper */

struct map {
    const char *name;
    uint16_t wal, manifest, by_level[LEVELS], table; /* table: of unknown level */
    bool by_hint, by_host;
    uint16_t streams;
};

enum { MAP_COUNT = 5 };
#define MAP_CHOICES "level|hs8|3way|hint|host"

static const struct map maps[MAP_COUNT] = {
    {.name = "level", .wal = 1, .by_level = {2, 3, 4, 5, 6}, .streams = 6},
    {.name = "hs8", .wal = 1, .manifest = 2, .by_level = {3, 4, 5, 6, 7}, .streams = 7},
    {.name = "3way",
     .wal = 1,
     .manifest = 2,
     .by_level = {3, 3, 3, 3, 3},
     .table = 3,
     .streams = 3},
    {.name = "hint", .by_hint = true, .streams = 4},
    {.name = "host", .by_host = true},
};

struct manual {
    const struct map *map;
    uint32_t streams; /* m */
};

struct settings {
    int map;
};

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "map", .fallback = "level", .type = TRIB_OPTION_ENUM, .choices = MAP_CHOICES,
     .offset = offsetof(struct settings, map),
     .help = "table of streams for RocksDB (docs/policies.md)"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

static int manual_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                       struct trib_error *error) {
    struct settings settings;
    int code = trib_options_take(given, options, &settings, error);
    if (code)
        return code;
    struct manual *manual = malloc(sizeof *manual);
    if (!manual)
        return trib_fail(error, -ENOMEM, "manual: out of memory");
    *manual = (struct manual){&maps[settings.map], env->streams};
    if (env->streams < manual->map->streams)
        trib_log(TRIB_LOG_WARNING,
                 "manual: map=%s wants %u streams, the drive has %u: they are shared",
                 manual->map->name, manual->map->streams, env->streams);
    *self = manual;
    return 0;
}

static uint16_t stream_of(const struct map *map, const struct trib_context *who) {
    if (map->by_hint)
        return trib_stream_of_hint(who->write_hint);
    switch (who->file_kind) {
    case TRIB_FILE_WAL:
        return map->wal;
    case TRIB_FILE_MANIFEST:
        return map->manifest;
    case TRIB_FILE_SST:
    case TRIB_FILE_BLOB:
        if (who->level < 0)
            return map->table;
        return map->by_level[who->level < LEVELS ? who->level : LEVELS - 1];
    default:
        return 0;
    }
}

static uint16_t manual_place(void *self, const struct trib_placement *write) {
    const struct manual *manual = self;
    uint32_t stream = manual->map->by_host ? write->vstream + 1u : stream_of(manual->map, &write->who);
    if (manual->map->by_host && write->vstream == TRIB_STREAM_UNDECIDED)
        return 0;
    if (!stream || !manual->streams)
        return 0;
    return (uint16_t)(1 + (stream - 1) % manual->streams);
}

const struct trib_policy trib_policy_manual = {
    .name = "manual",
    .summary = "a person's table: WAL and LSM levels to streams",
    .options = options,
    .needs = TRIB_NEEDS_LEVEL,
    .open = manual_open,
    .close = free,
    .place = manual_place,
};
