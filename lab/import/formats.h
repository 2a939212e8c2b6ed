/* SPDX-License-Identifier: Apache-2.0 */
/* Every format, and what their parsers share: fields of a line, numbers without signs, times
 * without rounding. Pure functions. */
#ifndef TRIB_IMPORT_FORMATS_H
#define TRIB_IMPORT_FORMATS_H

#include "import/import.h"

extern const struct trib_import_format trib_import_alibaba;
extern const struct trib_import_format trib_import_blkparse;
extern const struct trib_import_format trib_import_csv;
extern const struct trib_import_format trib_import_disksim;
extern const struct trib_import_format trib_import_fiu;
extern const struct trib_import_format trib_import_mqsim;
extern const struct trib_import_format trib_import_msr;
extern const struct trib_import_format trib_import_tencent;
extern const struct trib_import_format trib_import_vscsi;

#define TRIB_IMPORT_FIELDS_MAX 32
#define TRIB_SECTOR_BYTES      512u

/* Cuts a line at each `separator`, or with ' ' at white space; fields are trimmed. What is beyond
 * `most` stays in the last. Returns how many there are. */
unsigned trib_fields(char *line, char separator, char *fields[], unsigned most);
/* A whole number in decimal digits, nothing else, times `unit`. */
bool trib_field_number(const char *text, uint64_t unit, uint64_t *out);
/* "12" or "12.345" of a unit of unit_ns; digits below a nanosecond are dropped. */
bool trib_field_time(const char *text, uint64_t unit_ns, uint64_t *out);
/* Names a volume; too long ones are cut. */
void trib_import_name(struct trib_import_request *out, const char *first, const char *second);
/* REQUEST if the range is sound, NOTHING if it is empty, MALFORMED if it is beyond any drive. To be
 * called when the kind is known. */
enum trib_import_verdict trib_import_range(struct trib_import_request *out, uint64_t offset_bytes,
                                           uint64_t length_bytes);

#endif
