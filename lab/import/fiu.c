/* SPDX-License-Identifier: Apache-2.0 */
/* FIU's block traces at SNIA (README of set 411; Koller and Rangaswami, FAST'10):
 *   ns pid process lba sectors W|R major minor MD5
 * sectors of 512 bytes. A volume is major.minor. */
#include <string.h>

#include "import/formats.h"

static enum trib_import_verdict fiu_line(const struct trib_import_settings *settings, char *line,
                                         struct trib_import_request *out) {
    char *field[10];
    uint64_t pid, sector, sectors;
    (void)settings;

    if (trib_fields(line, ' ', field, 10) < 8 || !trib_field_number(field[0], 1, &out->time_ns) ||
        !trib_field_number(field[1], 1, &pid) || !trib_field_number(field[3], TRIB_SECTOR_BYTES, &sector) ||
        !trib_field_number(field[4], TRIB_SECTOR_BYTES, &sectors) || (strcmp(field[5], "W") && strcmp(field[5], "R")))
        return TRIB_IMPORT_MALFORMED;
    out->kind = *field[5] == 'W' ? TRIB_IMPORT_WRITE : TRIB_IMPORT_READ;
    out->thread = (uint32_t)pid;
    trib_import_name(out, field[6], field[7]);
    return trib_import_range(out, sector, sectors);
}

const struct trib_import_format trib_import_fiu = {
    .name = "fiu",
    .summary = "FIU's block traces at SNIA",
    .line = fiu_line,
    .guessable = true,
};
