/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "import/formats.h"

#define GUESS_LINES 8

const struct trib_import_format *const trib_import_formats[] = {
    &trib_import_msr, &trib_import_blkparse, &trib_import_mqsim,   &trib_import_disksim, &trib_import_vscsi,
    &trib_import_csv, &trib_import_fiu,      &trib_import_alibaba, &trib_import_tencent, NULL,
};

const struct trib_import_format *trib_import_find(const char *name, struct trib_error *error) {
    struct trib_error names = {""};
    size_t used = 0;

    for (const struct trib_import_format *const *format = trib_import_formats; *format; format++) {
        if (strcmp((*format)->name, name) == 0)
            return *format;
        if (used < sizeof names.text)
            used += (size_t)snprintf(names.text + used, sizeof names.text - used, " %s", (*format)->name);
    }
    trib_fail(error, -EINVAL, "unknown format '%.60s'; valid are%.300s", name, names.text);
    return NULL;
}

/* Whether the first lines, a heading aside, are all sound; one that is cut short does not count. */
static bool is_text_of(const struct trib_import_format *format, const char *head, size_t length) {
    static const struct trib_import_settings settings = {.chunk_bytes = 1};
    unsigned sound = 0;

    for (unsigned lines = 0; lines < GUESS_LINES && length; lines++) {
        char line[1024];
        const char *end = memchr(head, '\n', length);
        size_t bytes = end ? (size_t)(end - head) : length;
        if (!end || bytes >= sizeof line)
            break;
        memcpy(line, head, bytes);
        line[bytes] = '\0';
        length -= bytes + 1;
        head = end + 1;
        if (format->ignores && !strncmp(line, format->ignores, strlen(format->ignores)))
            continue;
        struct trib_import_request request = {0};
        if (format->line(&settings, line, &request) == TRIB_IMPORT_MALFORMED)
            return false;
        sound++;
    }
    return sound > 0;
}

const struct trib_import_format *trib_import_guess(const char *head, size_t length) {
    for (const struct trib_import_format *const *format = trib_import_formats; *format; format++) {
        if (!(*format)->guessable)
            continue;
        if ((*format)->line ? is_text_of(*format, head, length)
                            : (*format)->record_bytes((const unsigned char *)head, length) > 0)
            return *format;
    }
    return NULL;
}
