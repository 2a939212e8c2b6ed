/* SPDX-License-Identifier: Apache-2.0 */
/* DiskSim's ASCII traces (DiskSim 4.0 reference manual, "Trace formats"; disksim_iotrace.c reads
 * "%lf %d %d %d %x"):
 *   arrival_ms device block blocks flags
 * blocks of 512 bytes; flags in hexadecimal, bit 0 set for a read. A volume is a device. */
#include <stdlib.h>
#include <string.h>

#include "import/formats.h"

#define FLAG_READ 1u

static enum trib_import_verdict disksim_line(const struct trib_import_settings *settings, char *line,
                                             struct trib_import_request *out) {
    char *field[6], *end;
    uint64_t block, blocks;
    (void)settings;

    /* Without a decimal point it would be MQSim's: neither format has a mark of its own. */
    if (trib_fields(line, ' ', field, 6) != 5 || !strchr(field[0], '.') ||
        !trib_field_time(field[0], 1000000, &out->time_ns) || !trib_field_number(field[2], TRIB_SECTOR_BYTES, &block) ||
        !trib_field_number(field[3], TRIB_SECTOR_BYTES, &blocks))
        return TRIB_IMPORT_MALFORMED;
    unsigned long flags = strtoul(field[4], &end, 16);
    if (*end)
        return TRIB_IMPORT_MALFORMED;
    out->kind = flags & FLAG_READ ? TRIB_IMPORT_READ : TRIB_IMPORT_WRITE;
    trib_import_name(out, field[1], NULL);
    return trib_import_range(out, block, blocks);
}

const struct trib_import_format trib_import_disksim = {
    .name = "disksim",
    .summary = "DiskSim's ASCII traces",
    .line = disksim_line,
    .guessable = true,
};
