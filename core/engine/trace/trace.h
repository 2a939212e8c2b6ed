/* SPDX-License-Identifier: Apache-2.0 */
/* Event files: what was written, by whom, and when it died. Compact (delta-coded records in
 * checksummed blocks), versioned, streamable, readable while being written. Format:
 * docs/formats/trace.md. Thread safety: a writer and a reader have one owner each; a reader may
 * follow a file that a writer extends. */
#ifndef TRIB_TRACE_TRACE_H
#define TRIB_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>
#include <tributary/signature.h>

TRIB_C_BEGIN

struct trib_trace_writer;
struct trib_trace_reader;

#define TRIB_TRACE_VERSION        1
#define TRIB_TRACE_TEXT_BYTES_MAX 32768u /* of a name or note, without its NUL */

enum trib_trace_item_kind {
    TRIB_TRACE_EVENT = 1,
    TRIB_TRACE_NAME = 2,      /* a file's path */
    TRIB_TRACE_MODULE = 3,    /* an ELF module of the traced program */
    TRIB_TRACE_SIGNATURE = 4, /* frames of a signature */
    TRIB_TRACE_GAP = 5,       /* events that the recorder dropped here */
    TRIB_TRACE_NOTE = 6,      /* free text: command, host, options */
};

struct trib_trace_item {
    enum trib_trace_item_kind kind;
    struct trib_event event;
    uint64_t id;               /* file (NAME) or signature (SIGNATURE) */
    const char *text;          /* NAME, NOTE; valid until the next call */
    struct trib_module module; /* MODULE; its number is module_index */
    uint32_t module_index;
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX]; /* SIGNATURE */
    uint32_t frame_count;
    uint64_t gap_events, gap_bytes;
};

/* How much disk a recording may take. A file that would outgrow max_bytes is rotated: NAME becomes NAME.1, and so on up
 * to NAME.keep, the oldest is deleted. Below floor_bytes of free space recording stops. 0: no limit, or no earlier
 * file. */
struct trib_trace_limits {
    uint64_t max_bytes; /* at least TRIB_TRACE_MAX_BYTES_MIN */
    uint64_t floor_bytes;
    uint32_t keep;      /* below TRIB_TRACE_SUFFIX_MAX */
    uint64_t recording; /* its identity in the files; 0: a random one */
};
#define TRIB_TRACE_SUFFIX_MAX    1000u
#define TRIB_TRACE_MAX_BYTES_MIN (1u << 20)
#define TRIB_TRACE_LIMITS_DEFAULT                                                                                      \
    { .max_bytes = 1ull << 30, .floor_bytes = 256u << 20, .keep = 15, .recording = 0 }

/* A new file, 0600 and locked; an existing trace is rotated away first, never truncated. "-" is standard output and a
 * character device is taken as it is, both without limits. 0; -EEXIST, -ELOOP, -EISDIR (what stands there is not a
 * trace that may be rotated; error says what to do); -EBUSY (another writer has it); -ENOSPC (below the floor); -errno.
 * Nothing is fsynced, here or later. limits NULL: the default. */
int trib_trace_writer_open_within(struct trib_trace_writer **out, const char *path,
                                  const struct trib_trace_limits *limits, struct trib_error *error);
int trib_trace_writer_open(struct trib_trace_writer **out, const char *path, struct trib_error *error);
/* Why nothing more is recorded, a sentence; "" while it is. */
const char *trib_trace_writer_stopped(const struct trib_trace_writer *writer);

/* Each: 0 or the -errno of the file system; after the first failure, -ENOSPC at the floor and -EFBIG at the size limit
 * included, the writer is inert and repeats it (without SIGPIPE or SIGXFSZ). The file then ends with its last whole
 * block, with the reason if that can still be written. -EINVAL (an event of unknown kind, more than
 * TRIB_SIGNATURE_DEPTH_MAX frames) and -E2BIG (text too long) refuse one item and leave the writer
 * usable. Items keep their order; a partly filled block reaches the file with flush or after 64
 * KiB. */
int trib_trace_write(struct trib_trace_writer *writer, const struct trib_event *event);
int trib_trace_write_name(struct trib_trace_writer *writer, uint64_t file, const char *path);
/* Frames of this process; adds MODULE items for modules that are not yet in the file. */
int trib_trace_write_signature(struct trib_trace_writer *writer, uint64_t signature, const struct trib_frame *frames,
                               uint32_t count);
/* The SIGNATURE and MODULE items alone, e.g. to copy a trace of another process. */
int trib_trace_write_frames(struct trib_trace_writer *writer, uint64_t signature, const struct trib_frame *frames,
                            uint32_t count);
int trib_trace_write_module(struct trib_trace_writer *writer, uint32_t index, const struct trib_module *module);
bool trib_trace_has_module(const struct trib_trace_writer *writer, uint32_t index);
int trib_trace_write_gap(struct trib_trace_writer *writer, uint64_t events, uint64_t bytes);
int trib_trace_write_note(struct trib_trace_writer *writer, const char *text);
int trib_trace_flush(struct trib_trace_writer *writer);
/* Bytes in the recording's files and in the open block. */
uint64_t trib_trace_writer_bytes(const struct trib_trace_writer *writer);
/* Flushes and writes the end block. 0, or the first -errno; NULL is fine. */
int trib_trace_writer_close(struct trib_trace_writer *writer);

struct trib_trace_read_options {
    bool allow_truncated; /* replay up to the cut instead of refusing */
    bool follow;          /* -EAGAIN at the present end of an unfinished file instead of an error */
};

/* "-" is standard input; no seeking is needed. Of a recording of several files, NAME is the last and all those before
 * it are read first (NAME.3 ends with NAME.3). options may be NULL. With follow, a file too short for its header is
 * opened and read when it has grown. 0; -EPROTO (foreign file, future version), -EBADMSG (empty file, bad header),
 * -errno; error has offset and reason. */
int trib_trace_reader_open(struct trib_trace_reader **out, const char *path,
                           const struct trib_trace_read_options *options, struct trib_error *error);
/* 1 an item, 0 the end, -EBADMSG (corrupt or truncated; offset and reason in error), -EAGAIN
 * (follow: nothing new yet), -errno. Only the fields of the item's kind are set. All errors but
 * -EAGAIN repeat. allow_truncated forgives bytes that are missing at the end (a last block that a
 * crash tore, too), never damage with data after it. */
int trib_trace_next(struct trib_trace_reader *reader, struct trib_trace_item *item, struct trib_error *error);
/* Back to the first item. 0; -ESPIPE (a pipe); -errno. */
int trib_trace_rewind(struct trib_trace_reader *reader);
/* Position and size for progress bars, bytes; size 0 = unknown. */
void trib_trace_progress(const struct trib_trace_reader *reader, uint64_t *position, uint64_t *size);
bool trib_trace_was_truncated(const struct trib_trace_reader *reader);
/* Once it has been read: why recording stopped, or "". */
const char *trib_trace_stop_reason(const struct trib_trace_reader *reader);
/* Files of this recording that came before what is read here, but are gone. */
uint64_t trib_trace_files_missing(const struct trib_trace_reader *reader);
void trib_trace_reader_close(struct trib_trace_reader *reader);

TRIB_C_END
#endif
