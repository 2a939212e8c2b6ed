/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of cloud block stores.
 * Alibaba (README of alibaba/block-traces; Li et al., IISWC'20): io_traces.csv is
 *   device_id,opcode,offset,length,timestamp
 * opcode R or W, offset and length in bytes, microseconds.
 * Tencent (README of SNIA set 28064; Zhang et al., ATC'20):
 *   Timestamp,Offset,Size,IOType,VolumeID
 * seconds since 1970, sectors of 512 bytes, 0 for a read and 1 for a write. */
#include <string.h>

#include "import/formats.h"

static enum trib_import_verdict alibaba_line(const struct trib_import_settings *settings, char *line,
                                             struct trib_import_request *out) {
    char *field[6];
    uint64_t device, offset, length;
    (void)settings;

    if (trib_fields(line, ',', field, 6) != 5 || !trib_field_number(field[0], 1, &device) ||
        (strcmp(field[1], "W") && strcmp(field[1], "R")) || !trib_field_number(field[2], 1, &offset) ||
        !trib_field_number(field[3], 1, &length) || !trib_field_number(field[4], 1000, &out->time_ns))
        return TRIB_IMPORT_MALFORMED;
    out->kind = *field[1] == 'W' ? TRIB_IMPORT_WRITE : TRIB_IMPORT_READ;
    trib_import_name(out, field[0], NULL);
    return trib_import_range(out, offset, length);
}

static enum trib_import_verdict tencent_line(const struct trib_import_settings *settings, char *line,
                                             struct trib_import_request *out) {
    char *field[6];
    uint64_t offset, length, volume;
    (void)settings;

    if (trib_fields(line, ',', field, 6) != 5 || !trib_field_number(field[0], 1000000000, &out->time_ns) ||
        !trib_field_number(field[1], TRIB_SECTOR_BYTES, &offset) ||
        !trib_field_number(field[2], TRIB_SECTOR_BYTES, &length) || (strcmp(field[3], "0") && strcmp(field[3], "1")) ||
        !trib_field_number(field[4], 1, &volume))
        return TRIB_IMPORT_MALFORMED;
    out->kind = *field[3] == '1' ? TRIB_IMPORT_WRITE : TRIB_IMPORT_READ;
    trib_import_name(out, field[4], NULL);
    return trib_import_range(out, offset, length);
}

const struct trib_import_format trib_import_alibaba = {
    .name = "alibaba",
    .summary = "Alibaba block traces, CSV",
    .ignores = "device_id",
    .line = alibaba_line,
    .guessable = true,
};

const struct trib_import_format trib_import_tencent = {
    .name = "tencent",
    .summary = "Tencent CBS traces, CSV",
    .ignores = "Timestamp",
    .line = tencent_line,
    .guessable = true,
};
