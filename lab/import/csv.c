/* SPDX-License-Identifier: Apache-2.0 */
/* CSV as libCacheSim reads it (doc/quickstart_cachesim.md, "csv trace"): columns are named by their
 * numbers: time, object id (here: an address in offset_unit), object size in bytes, and what the
 * operation is, if there is such a column. An operation begins with r, w, or d or t for a discard;
 * 0 is a read and 1 a write. Never guessed: any file with commas would do. */
#include <ctype.h>

#include "import/formats.h"

static bool kind_of(const char *text, enum trib_import_kind *out) {
    switch (tolower((unsigned char)*text)) {
    case 'r':
    case '0':
        *out = TRIB_IMPORT_READ;
        return true;
    case 'w':
    case '1':
        *out = TRIB_IMPORT_WRITE;
        return true;
    case 'd':
    case 't':
        *out = TRIB_IMPORT_DISCARD;
        return true;
    default:
        return false;
    }
}

static enum trib_import_verdict csv_line(const struct trib_import_settings *settings, char *line,
                                         struct trib_import_request *out) {
    static const uint64_t unit_ns[] = {1, 1000, 1000000, 1000000000};
    char *field[TRIB_IMPORT_FIELDS_MAX];
    uint64_t offset, length;
    unsigned fields = trib_fields(line, ',', field, TRIB_IMPORT_FIELDS_MAX);

    if (settings->time_column > fields || settings->offset_column > fields || settings->size_column > fields ||
        settings->op_column > fields)
        return TRIB_IMPORT_MALFORMED;
    if (!trib_field_time(field[settings->time_column - 1], unit_ns[settings->time_unit], &out->time_ns) ||
        !trib_field_number(field[settings->offset_column - 1], settings->offset_unit_bytes, &offset) ||
        !trib_field_number(field[settings->size_column - 1], 1, &length))
        return TRIB_IMPORT_MALFORMED;
    out->kind = TRIB_IMPORT_WRITE;
    if (settings->op_column && !kind_of(field[settings->op_column - 1], &out->kind))
        return TRIB_IMPORT_MALFORMED;
    return trib_import_range(out, offset, length);
}

const struct trib_import_format trib_import_csv = {
    .name = "csv",
    .summary = "CSV with columns by number, as libCacheSim's",
    .line = csv_line,
    .heading = true,
};
