/* SPDX-License-Identifier: Apache-2.0 */
/* Text of blkparse in its default format (blkparse(1), "OUTPUT DESCRIPTION AND FORMATTING"):
 *   maj,min cpu sequence seconds.nanoseconds pid action rwbs sector + sectors [process]
 * One action counts (option action): D, what the driver was given, unless the trace has only
 * others. RWBS: R, W or D (discard) first, after an F for a flush in front; N moves no data, nor
 * does a flush of nothing, "FWS [process]" or "FWS 0 + 0".
 * From the per-CPU summary on nothing is read. A volume is maj,min. */
#include <ctype.h>
#include <string.h>

#include "import/formats.h"

static const char actions[] = "DQCI"; /* order of option action */

static enum trib_import_verdict kind_of(const char *rwbs, enum trib_import_kind *out) {
    if (*rwbs == 'F')
        rwbs++;
    *out = *rwbs == 'D' ? TRIB_IMPORT_DISCARD : *rwbs == 'W' ? TRIB_IMPORT_WRITE : TRIB_IMPORT_READ;
    return *rwbs && strchr("RWD", *rwbs) ? TRIB_IMPORT_REQUEST : TRIB_IMPORT_NOTHING;
}

static bool is_device(const char *text) {
    size_t major = strspn(text, "0123456789");
    return major && text[major] == ',' && isdigit((unsigned char)text[major + 1]);
}

static enum trib_import_verdict blkparse_line(const struct trib_import_settings *settings, char *line,
                                              struct trib_import_request *out) {
    char *field[TRIB_IMPORT_FIELDS_MAX];
    uint64_t pid, sector, sectors;
    unsigned fields = trib_fields(line, ' ', field, TRIB_IMPORT_FIELDS_MAX);

    if (fields && (!strncmp(field[0], "CPU", 3) || !strcmp(field[0], "Total")))
        return TRIB_IMPORT_END;
    if (fields < 6 || !is_device(field[0]) || !trib_field_time(field[3], 1000000000, &out->time_ns) ||
        !trib_field_number(field[4], 1, &pid))
        return TRIB_IMPORT_MALFORMED;
    if (field[5][0] != actions[settings->action] || field[5][1])
        return TRIB_IMPORT_NOTHING;
    if (fields < 7)
        return TRIB_IMPORT_MALFORMED;
    enum trib_import_verdict verdict = kind_of(field[6], &out->kind);
    if (verdict != TRIB_IMPORT_REQUEST)
        return verdict;
    if (field[6][0] == 'F' && (fields == 7 || field[7][0] == '['))
        return TRIB_IMPORT_NOTHING;
    if (fields < 10 || strcmp(field[8], "+") || !trib_field_number(field[7], TRIB_SECTOR_BYTES, &sector) ||
        !trib_field_number(field[9], TRIB_SECTOR_BYTES, &sectors))
        return TRIB_IMPORT_MALFORMED;
    out->thread = (uint32_t)pid;
    trib_import_name(out, field[0], NULL);
    return trib_import_range(out, sector, sectors);
}

const struct trib_import_format trib_import_blkparse = {
    .name = "blkparse",
    .summary = "text of blktrace and blkparse",
    .ignores = "Input file ", /* "sda.blktrace.0 added": blkparse -i says so on the same stream */
    .line = blkparse_line,
    .guessable = true,
};
