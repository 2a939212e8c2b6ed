/* SPDX-License-Identifier: Apache-2.0 */
/* Readers for public block traces: text or records in, events on the drive's address space (file 0)
 * out. One file per format; registry.c is the only list; docs/howto/traces.md says what is kept.
 * Writes and reads are rounded outward to whole blocks, discards inward. Such traces know neither
 * call paths nor files: events carry addresses, times and the submitting process only.
 * Thread safety: one owner per handle; a finished map may be shared by readers. */
#ifndef TRIB_IMPORT_IMPORT_H
#define TRIB_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tributary/event.h>

#include "base/options.h"

TRIB_C_BEGIN

#define TRIB_IMPORT_VOLUME_BYTES 48 /* of a volume's name, NUL included */
#define TRIB_IMPORT_BAD_SHOWN    5

enum trib_import_kind { TRIB_IMPORT_READ, TRIB_IMPORT_WRITE, TRIB_IMPORT_DISCARD };

/* One request as its format tells it. */
struct trib_import_request {
    uint64_t time_ns, offset_bytes, length_bytes;
    uint32_t thread; /* process, where the format knows it */
    enum trib_import_kind kind;
    char volume[TRIB_IMPORT_VOLUME_BYTES]; /* "" = the format has one */
};

/* Options of readers; each format uses some. */
struct trib_import_settings {
    char volume[TRIB_OPTION_TEXT_MAX]; /* "all", or the one to keep */
    uint64_t chunk_bytes;              /* of the address map; 0 = addresses stay */
    bool reads;
    int action, time_unit;                                       /* blkparse; mqsim, csv */
    uint32_t time_column, offset_column, size_column, op_column; /* csv, from 1; op 0 = writes */
    uint64_t offset_unit_bytes;                                  /* csv */
};

enum trib_import_verdict {
    TRIB_IMPORT_REQUEST,
    TRIB_IMPORT_NOTHING, /* a line that is none: another action, a comment, no length */
    TRIB_IMPORT_MALFORMED,
    TRIB_IMPORT_END, /* what follows is a summary for people */
};

struct trib_import_format {
    const char *name;
    const char *summary;
    const char *ignores; /* lines that begin so are comments or headings; NULL = none */
    /* Fills `out` from one line (NUL-terminated, may be changed). Text formats. */
    enum trib_import_verdict (*line)(const struct trib_import_settings *settings, char *line,
                                     struct trib_import_request *out);
    /* Binary formats: length of the records that begin with these bytes, 0 if they are none. */
    size_t (*record_bytes)(const unsigned char *head, size_t length);
    enum trib_import_verdict (*record)(const unsigned char *record, size_t length, struct trib_import_request *out);
    bool heading; /* a first line that begins with a letter names columns */
    bool guessable;
};

/* Where the chunks that a trace touches go: to the front of the address space, volume by volume in
 * the order of their appearance, each in its own order. */
struct trib_import_map;
int trib_import_map_open(struct trib_import_map **out, uint64_t chunk_bytes);
void trib_import_map_close(struct trib_import_map *map);
uint64_t trib_import_map_bytes(const struct trib_import_map *map);

struct trib_import_statistics {
    uint64_t lines, malformed, reads, writes, discards, left_out; /* left_out: other volumes */
    uint32_t volumes;
    char bad[TRIB_IMPORT_BAD_SHOWN][80]; /* "line 7: the text", the first ones */
};

struct trib_import;

/* Opens a reader of `in`, which stays the caller's and is read once, front to back. 0; -EINVAL
 * (format or option; the sentence lists the valid ones); -ENOMEM. */
int trib_import_open(struct trib_import **out, FILE *in, const struct trib_import_format *format, const char *options,
                     struct trib_error *error);
/* The first of two passes: reads all of it and notes the chunks. 0, or as trib_import_next. Needs
 * option chunk > 0. */
int trib_import_learn(struct trib_import *import, struct trib_import_map *map, struct trib_error *error);
/* The second pass maps addresses; without a map they stay, and a second volume is -EINVAL. */
void trib_import_use(struct trib_import *import, const struct trib_import_map *map);
/* 1 an event, 0 the end, -EBADMSG (more than 0.1 % of the lines are malformed; the sentence names
 * the first), -EINVAL (a second volume without a map), -EIO, -ENOMEM. */
int trib_import_next(struct trib_import *import, struct trib_event *event, struct trib_error *error);
uint64_t trib_import_chunk_bytes(const struct trib_import *import);
void trib_import_count(const struct trib_import *import, struct trib_import_statistics *out);
void trib_import_close(struct trib_import *import); /* NULL is fine */

extern const struct trib_import_format *const trib_import_formats[]; /* NULL-terminated */
extern const struct trib_option_spec trib_import_options[];
/* NULL + a sentence listing the names. */
const struct trib_import_format *trib_import_find(const char *name, struct trib_error *error);
/* The format of which all of the first lines are; NULL if there is none. */
const struct trib_import_format *trib_import_guess(const char *head, size_t length);

TRIB_C_END
#endif
