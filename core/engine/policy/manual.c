/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       ManualStream (Kang et al., HotStorage'14; Yang et al.'s RocksDB streams; FAST'19
 *             section 6.1): a person who knows the engine gives each kind of data a stream.
 * Idea        File kind and LSM level -> stream, by a table. Option `map`:
 *             level      RocksDB: S1 WAL, S2 L0, S3 L1, S4 L2, S5 L3, S6 L4 and deeper
 *             hs8        RocksDB: S1 WAL, S2 MANIFEST, S3 L0, S4 L1, S5 L2, S6 L3, S7 deeper
 *             3way       RocksDB: S1 WAL, S2 MANIFEST, S3 table files
 *             cassandra  S1 commit log, S2 flushed tables (L0), S3 compacted ones (deeper)
 *             cassandra4 S1 commit log, S2 tables' metadata, S3 tables' indexes, S4 tables' data
 *             sqlite     S1 journal or WAL, S2 database, S3 temporary files
 *             gcc        S1 .s and .i, S2 .d, .cmd and .rc, S3 .o, S4 what is linked
 *             mixed1     `level`, then `gcc` from S7 on
 *             mixed2     `sqlite`, then `gcc` from S4 on
 *             hint       write hint - 1
 *             host       what the host itself named (virtual stream v -> S(v + 1))
 *             f2fs       virtual streams 0 to 6: F2FS's logs in its own order, and metadata. S1
 *                        hot data and nodes, S2 warm ones and metadata, S3 cold ones
 *             Everything else is S0; by level, so are table files of unknown level.
 * Uses        File kind, level (level, hs8, cassandra, mixed1), write hint (hint), virtual stream
 *             (host, f2fs).
 * Constants   level: ours, after FAST'19 Fig. 2, where gains end at six streams. hs8 and 3way: the
 *             HotStorage'18 emulator, which counts levels from the memtable; its two free numbers
 *             (2 and 7) given to MANIFEST and deeper levels by us. cassandra: HotStorage'14's
 *             "multi-data" as remembered, not checked against the paper. cassandra4: the four
 *             streams of the white paper that FIOS (TOS'22) cites. f2fs: Table II of TCE'21
 *             (Manual-FTL). sqlite, gcc, mixed: ours; FAST'19 says only that they were bound by
 *             hand, and that Mixed 1 is RocksDB and GCC, Mixed 2 SQLite and GCC.
 * Deviations  FAST'19 gives no table. A drive with too few streams gets them in turn: S1 again
 *             after the last.
 * Cost        Two table look-ups per write. */
#include <errno.h>
#include <stdlib.h>

#include "log/log.h"
#include "policy/policies.h"

#define LEVELS   5 /* L0..L3, and deeper */
#define BY_LEVEL UINT8_MAX

/* The logs in the order of F2FS's curseg_type; then what lies outside them. */
enum f2fs_vstream {
    F2FS_HOT_DATA,
    F2FS_WARM_DATA,
    F2FS_COLD_DATA,
    F2FS_HOT_NODE,
    F2FS_WARM_NODE,
    F2FS_COLD_NODE,
    F2FS_METADATA,
    F2FS_VSTREAMS
};

struct map {
    const char *name;
    uint8_t of_kind[TRIB_FILE_KIND_COUNT]; /* stream, or BY_LEVEL */
    uint8_t of_level[LEVELS];
    uint8_t of_vstream[F2FS_VSTREAMS];
    bool by_hint, by_host, by_vstream;
    uint16_t streams;
};

#define MAP_CHOICES    "level|hs8|3way|hint|host|cassandra|cassandra4|sqlite|gcc|mixed1|mixed2|f2fs"

#define TABLES(stream) [TRIB_FILE_SST] = (stream), [TRIB_FILE_BLOB] = (stream)
#define ROCKSDB_KINDS  [TRIB_FILE_WAL] = 1, TABLES(BY_LEVEL)
#define SQLITE_KINDS   [TRIB_FILE_JOURNAL] = 1, [TRIB_FILE_WAL] = 1, [TRIB_FILE_DATABASE] = 2, [TRIB_FILE_TEMP] = 3
#define GCC_KINDS(first)                                                                                               \
    [TRIB_FILE_INTERMEDIATE] = (first), [TRIB_FILE_BUILD_NOTE] = (first) + 1, [TRIB_FILE_OBJECT] = (first) + 2,        \
    [TRIB_FILE_LINKED] = (first) + 3

/* In the order of MAP_CHOICES. */
static const struct map maps[] = {
    {.name = "level", .of_kind = {ROCKSDB_KINDS}, .of_level = {2, 3, 4, 5, 6}, .streams = 6},
    {.name = "hs8", .of_kind = {ROCKSDB_KINDS, [TRIB_FILE_MANIFEST] = 2}, .of_level = {3, 4, 5, 6, 7}, .streams = 7},
    {.name = "3way", .of_kind = {[TRIB_FILE_WAL] = 1, [TRIB_FILE_MANIFEST] = 2, TABLES(3)}, .streams = 3},
    {.name = "hint", .by_hint = true, .streams = 4},
    {.name = "host", .by_host = true},
    {.name = "cassandra",
     .of_kind = {ROCKSDB_KINDS, [TRIB_FILE_SST_INDEX] = BY_LEVEL, [TRIB_FILE_SST_META] = BY_LEVEL},
     .of_level = {2, 3, 3, 3, 3},
     .streams = 3},
    {.name = "cassandra4",
     .of_kind = {[TRIB_FILE_WAL] = 1, [TRIB_FILE_SST_META] = 2, [TRIB_FILE_SST_INDEX] = 3, TABLES(4)},
     .streams = 4},
    {.name = "sqlite", .of_kind = {SQLITE_KINDS}, .streams = 3},
    {.name = "gcc", .of_kind = {GCC_KINDS(1)}, .streams = 4},
    {.name = "mixed1", .of_kind = {ROCKSDB_KINDS, GCC_KINDS(7)}, .of_level = {2, 3, 4, 5, 6}, .streams = 10},
    {.name = "mixed2", .of_kind = {SQLITE_KINDS, GCC_KINDS(4)}, .streams = 7},
    {.name = "f2fs",
     .of_vstream = {[F2FS_HOT_NODE] = 1,
                    [F2FS_HOT_DATA] = 1,
                    [F2FS_WARM_NODE] = 2,
                    [F2FS_WARM_DATA] = 2,
                    [F2FS_METADATA] = 2,
                    [F2FS_COLD_NODE] = 3,
                    [F2FS_COLD_DATA] = 3},
     .by_vstream = true,
     .streams = 3},
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
     .help = "table of streams, for one engine (docs/policies.md)"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

static const struct trib_policy_variant variants[] = {
    {.options = "", .use = TRIB_VARIANT_FIRST_TABLE},
    {.label = "manual host", .options = "map=host", .use = TRIB_VARIANT_MATRIX},
    {.options = NULL},
};

/* What the table that is chosen looks at. */
static uint32_t manual_needs(struct trib_options *given) {
    struct settings settings;
    const struct map *map = &maps[0];

    if (trib_options_take(given, options, &settings, NULL) == 0)
        map = &maps[settings.map];
    if (map->by_host || map->by_vstream)
        return TRIB_NEEDS_VSTREAM;
    if (map->by_hint)
        return TRIB_NEEDS_HINT;
    return TRIB_NEEDS_KIND | (map->of_level[0] ? TRIB_NEEDS_LEVEL : 0u);
}

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
        trib_log(TRIB_LOG_WARNING, "manual: map=%s wants %u streams, the drive has %u: they are shared",
                 manual->map->name, manual->map->streams, env->streams);
    *self = manual;
    return 0;
}

static uint32_t stream_of_host(const struct map *map, uint16_t vstream) {
    if (vstream == TRIB_STREAM_UNDECIDED)
        return 0;
    if (map->by_host)
        return vstream + 1u;
    return vstream < F2FS_VSTREAMS ? map->of_vstream[vstream] : 0;
}

static uint16_t stream_of(const struct map *map, const struct trib_context *who) {
    if (map->by_hint)
        return trib_stream_of_hint(who->write_hint);
    uint8_t stream = who->file_kind < TRIB_FILE_KIND_COUNT ? map->of_kind[who->file_kind] : 0;
    if (stream != BY_LEVEL)
        return stream;
    if (who->level < 0)
        return 0;
    return map->of_level[who->level < LEVELS ? who->level : LEVELS - 1];
}

static uint16_t manual_place(void *self, const struct trib_placement *write) {
    const struct manual *manual = self;
    const struct map *map = manual->map;
    uint32_t stream =
        map->by_host || map->by_vstream ? stream_of_host(map, write->vstream) : stream_of(map, &write->who);
    if (!stream || !manual->streams)
        return 0;
    return (uint16_t)(1 + (stream - 1) % manual->streams);
}

const struct trib_policy trib_policy_manual = {
    .name = "manual",
    .summary = "a person's table: file kinds and levels to streams",
    .options = options,
    .needs_given = manual_needs,
    .variants = variants,
    .open = manual_open,
    .close = free,
    .place = manual_place,
};
