/* SPDX-License-Identifier: Apache-2.0 */
/* MSR Cambridge (SNIA IOTTA 387; README of the set; Narayanan et al., FAST'08):
 *   Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
 * Timestamp in Windows file time (100 ns since 1601), Type Read or Write, offset and size in bytes.
 * A volume is host.disk. */
#include <strings.h>

#include "import/formats.h"

#define FILE_TIME_NS 100

static enum trib_import_verdict msr_line(const struct trib_import_settings *settings, char *line,
                                         struct trib_import_request *out) {
    char *field[8];
    uint64_t ticks, offset, length;
    (void)settings;

    if (trib_fields(line, ',', field, 8) != 7 || !trib_field_number(field[0], 1, &ticks) ||
        !trib_field_number(field[4], 1, &offset) || !trib_field_number(field[5], 1, &length))
        return TRIB_IMPORT_MALFORMED;
    if (strcasecmp(field[3], "Write") && strcasecmp(field[3], "Read"))
        return TRIB_IMPORT_MALFORMED;
    /* File times since 1601 times 100 ns exceed 64 bits: count from 2000. */
    const uint64_t from = 125911584000000000ull;
    out->time_ns = (ticks > from ? ticks - from : ticks) * FILE_TIME_NS;
    out->kind = strcasecmp(field[3], "Write") ? TRIB_IMPORT_READ : TRIB_IMPORT_WRITE;
    trib_import_name(out, field[1], field[2]);
    return trib_import_range(out, offset, length);
}

const struct trib_import_format trib_import_msr = {
    .name = "msr",
    .summary = "MSR Cambridge CSV",
    .ignores = "Timestamp",
    .line = msr_line,
    .guessable = true,
};
