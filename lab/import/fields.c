/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "import/formats.h"

/* Beyond these a number is no address, and no transfer of one command. */
#define ADDRESS_MAX  (1ull << 59)
#define TRANSFER_MAX (1ull << 32)

static char *trimmed(char *field) {
    while (isspace((unsigned char)*field))
        field++;
    size_t length = strlen(field);
    while (length && isspace((unsigned char)field[length - 1]))
        field[--length] = '\0';
    return field;
}

unsigned trib_fields(char *line, char separator, char *fields[], unsigned most) {
    const char separators[] = {separator, separator == ' ' ? '\t' : '\0', '\0'};
    unsigned count = 0;

    line = trimmed(line);
    while (line && *line && count < most) {
        char *field = line;
        line = NULL;
        if (count + 1 < most) {
            line = field + strcspn(field, separators);
            if (*line)
                *line++ = '\0';
            if (separator == ' ')
                line += strspn(line, separators);
        }
        fields[count++] = trimmed(field);
    }
    return count;
}

bool trib_field_number(const char *text, uint64_t unit, uint64_t *out) {
    uint64_t number = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
            return false;
    }
    return !__builtin_mul_overflow(number, unit, out);
}

bool trib_field_time(const char *text, uint64_t unit_ns, uint64_t *out) {
    char whole[24];
    size_t length = strcspn(text, ".");
    uint64_t time_ns;

    if (length >= sizeof whole)
        return false;
    memcpy(whole, text, length);
    whole[length] = '\0';
    if (!trib_field_number(whole, unit_ns, &time_ns))
        return false;
    for (text += length + (text[length] == '.'); *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        unit_ns /= 10;
        if (__builtin_add_overflow(time_ns, unit_ns * (uint64_t)(*text - '0'), &time_ns))
            return false;
    }
    *out = time_ns;
    return true;
}

void trib_import_name(struct trib_import_request *out, const char *first, const char *second) {
    snprintf(out->volume, sizeof out->volume, "%s%s%s", first, second ? "." : "", second ? second : "");
}

enum trib_import_verdict trib_import_range(struct trib_import_request *out, uint64_t offset_bytes,
                                           uint64_t length_bytes) {
    uint64_t most = out->kind == TRIB_IMPORT_DISCARD ? ADDRESS_MAX : TRANSFER_MAX;

    if (offset_bytes > ADDRESS_MAX || length_bytes > most)
        return TRIB_IMPORT_MALFORMED;
    out->offset_bytes = offset_bytes;
    out->length_bytes = length_bytes;
    return length_bytes ? TRIB_IMPORT_REQUEST : TRIB_IMPORT_NOTHING;
}
