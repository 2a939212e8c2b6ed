/* SPDX-License-Identifier: Apache-2.0 */
/* What reader.c (blocks), reader_items.c and reader_files.c share. Thread safety: one owner. Private to the trace room.
 */
#ifndef TRIB_TRACE_READER_H
#define TRIB_TRACE_READER_H

#include "trace/codec.h"
#include "trace/segments.h"

struct trib_trace_reader {
    char *path;
    int fd;
    bool regular; /* a file, which may grow and can be rewound; else its end is final */
    struct trib_trace_read_options options;
    bool header_read, ended, truncated;
    int failed; /* repeated, with the sentence in error */
    struct trib_error error;
    off_t start; /* of the trace; not 0 if standard input was handed over in the middle of a file */

    /* A recording of several files: which one is read, the last of them, and how much lies before and after it. */
    struct trib_trace_name name;
    struct trib_trace_segment segment;
    uint64_t first_number, last_number;
    uint64_t passed_bytes, rest_bytes;

    uint64_t offset_bytes; /* of bytes[0] in the trace */
    uint32_t filled_bytes;
    uint32_t items_left;         /* in the block */
    const uint8_t *cursor, *end; /* in the block */
    struct trib_trace_totals seen;
    struct trib_trace_state state;
    char text[TRIB_TRACE_TEXT_BYTES_MAX + 1];
    char stop_reason[TRIB_TRACE_REASON_BYTES];
    /* A decoder may look past the block; what is there does not matter, only that it may be read.
     */
    uint8_t bytes[TRIB_TRACE_BLOCK_HEADER_BYTES + TRIB_TRACE_PAYLOAD_BYTES + TRIB_TRACE_LOOKAHEAD_BYTES];
};

static inline bool trib_trace_reader_is_last(const struct trib_trace_reader *reader) {
    return reader->segment.number >= reader->last_number;
}

/* Each returns a failure that the reader repeats. corrupt: damage inside a block whose checksum is right, which is a
 * faulty or hostile writer's. */
int trib_trace_reader_fail(struct trib_trace_reader *reader, int code, uint64_t offset_bytes, const char *reason);
int trib_trace_reader_corrupt(struct trib_trace_reader *reader, const uint8_t *at, const char *reason);

/* The item at the cursor: 1 it is given out, 0 it is passed over, or a failure. */
int trib_trace_reader_item(struct trib_trace_reader *reader, struct trib_trace_item *item);

/* As at the beginning of a file. */
void trib_trace_reader_reset(struct trib_trace_reader *reader);

/* first_file: goes to the first file of the recording whose last one is open. next_file, after an end block: 0 the
 * recording ends here, 1 it goes on in another file, or a failure if that is gone. return: 0 at the first file, or
 * -ENOENT. The buffer of the reader holds nothing at these times. */
void trib_trace_reader_first_file(struct trib_trace_reader *reader);
int trib_trace_reader_next_file(struct trib_trace_reader *reader);
int trib_trace_reader_return(struct trib_trace_reader *reader);

#endif
