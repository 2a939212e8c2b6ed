/* SPDX-License-Identifier: Apache-2.0 */
/* MQSim's ASCII traces (README of CMU-SAFARI/MQSim, "Trace format"; ASCII_Trace_Definition.h):
 *   arrival device sector sectors type
 * type is 0 for a write and 1 for a read; arrival is in the time unit that the workload's XML
 * names, nanoseconds unless option time_unit says otherwise. A volume is a device. */
#include <string.h>

#include "import/formats.h"

static enum trib_import_verdict mqsim_line(const struct trib_import_settings *settings, char *line,
                                           struct trib_import_request *out) {
    static const uint64_t unit_ns[] = {1, 1000, 1000000, 1000000000};
    char *field[6];
    uint64_t sector, sectors;

    if (trib_fields(line, ' ', field, 6) != 5 ||
        !trib_field_number(field[0], unit_ns[settings->time_unit], &out->time_ns) ||
        !trib_field_number(field[2], TRIB_SECTOR_BYTES, &sector) ||
        !trib_field_number(field[3], TRIB_SECTOR_BYTES, &sectors) || (strcmp(field[4], "0") && strcmp(field[4], "1")))
        return TRIB_IMPORT_MALFORMED;
    out->kind = *field[4] == '0' ? TRIB_IMPORT_WRITE : TRIB_IMPORT_READ;
    trib_import_name(out, field[1], NULL);
    return trib_import_range(out, sector, sectors);
}

const struct trib_import_format trib_import_mqsim = {
    .name = "mqsim",
    .summary = "MQSim's ASCII traces",
    .line = mqsim_line,
    .guessable = true,
};
