/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       None: what a stock RocksDB got from a stock Linux 4.13 to 5.17 and a multi-stream
 *             drive.
 * Idea        RocksDB sets a write-life hint per file: WAL SHORT; level style: L0 and the base
 *             level MEDIUM, the next LONG, deeper EXTREME. The NVMe driver made streams of hints:
 *             NOT_SET and NONE S0, else stream hint - 1.
 * Uses        Write hint.
 * Constants   Four streams: the driver switched streams on only if the drive offered that many.
 * Deviations  None. Universal and FIFO compaction set no hints (RocksDB 7.8): all but the WAL is
 *             then S0.
 * Cost        A comparison per write. */
#include <errno.h>
#include <stdlib.h>

#include "log/log.h"
#include "policy/policies.h"

#define STREAMS_NEEDED 4

static const struct trib_option_spec options[] = {TRIB_OPTIONS_END};

static const struct trib_policy_variant variants[] = {
    {.options = "", .use = TRIB_VARIANT_FIRST_TABLE},
    {.options = NULL},
};

struct rocksdb_hints {
    bool enabled;
};

uint16_t trib_stream_of_hint(uint8_t write_hint) {
    bool says_something = write_hint >= TRIB_HINT_SHORT && write_hint <= TRIB_HINT_EXTREME;
    return says_something ? write_hint - 1 : 0;
}

static int hints_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                      struct trib_error *error) {
    int code = trib_options_take(given, options, NULL, error);
    if (code)
        return code;
    struct rocksdb_hints *hints = malloc(sizeof *hints);
    if (!hints)
        return trib_fail(error, -ENOMEM, "rocksdb-hints: out of memory");
    hints->enabled = env->streams >= STREAMS_NEEDED;
    if (!hints->enabled)
        trib_log(TRIB_LOG_WARNING, "rocksdb-hints: the drive has %u streams; as in Linux, fewer than %d means none",
                 env->streams, STREAMS_NEEDED);
    *self = hints;
    return 0;
}

static uint16_t hints_place(void *self, const struct trib_placement *write) {
    const struct rocksdb_hints *hints = self;
    return hints->enabled ? trib_stream_of_hint(write->who.write_hint) : 0;
}

const struct trib_policy trib_policy_rocksdb_hints = {
    .name = "rocksdb-hints",
    .summary = "RocksDB's write hints as Linux mapped them to streams",
    .options = options,
    .variants = variants,
    .needs = TRIB_NEEDS_HINT,
    .open = hints_open,
    .close = free,
    .place = hints_place,
};
