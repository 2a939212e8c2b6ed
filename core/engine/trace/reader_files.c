/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/reader.h"

void trib_trace_reader_reset(struct trib_trace_reader *reader) {
    reader->header_read = false;
    reader->offset_bytes = 0;
    reader->filled_bytes = reader->items_left = 0;
    reader->cursor = reader->end = NULL;
    reader->seen = (struct trib_trace_totals){0};
    trib_trace_state_reset(&reader->state);
}

static uint64_t size_of(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

/* Goes on at segment `number`, which lies at `suffix` or above. 0 or -ENOENT, and nothing has changed. */
static int open_segment(struct trib_trace_reader *reader, uint64_t number, uint32_t suffix) {
    struct trib_trace_segment wanted = {reader->segment.recording, number};
    int fd = trib_trace_segment_open(reader->name.base, &suffix, &wanted, reader->bytes);

    if (fd < 0)
        return fd;
    close(reader->fd);
    reader->fd = fd;
    reader->start = 0;
    reader->segment = wanted;
    reader->name.suffix = suffix;
    trib_trace_reader_reset(reader);
    return 0;
}

int trib_trace_reader_next_file(struct trib_trace_reader *reader) {
    uint64_t passed_bytes = size_of(reader->fd);
    uint32_t suffix = reader->name.suffix ? reader->name.suffix - 1 : 0;
    bool may_follow = reader->options.follow && reader->segment.recording;

    if (trib_trace_reader_is_last(reader) && !may_follow) {
        reader->ended = true;
        return 0;
    }
    if (open_segment(reader, reader->segment.number + 1, suffix) != 0) {
        reader->ended = trib_trace_reader_is_last(reader);
        return reader->ended
                   ? 0
                   : trib_trace_reader_fail(reader, -ENOENT, reader->offset_bytes, "the recording's next file is gone");
    }
    reader->passed_bytes += passed_bytes;
    uint64_t here_bytes = size_of(reader->fd);
    reader->rest_bytes -= here_bytes < reader->rest_bytes ? here_bytes : reader->rest_bytes;
    return 1;
}

void trib_trace_reader_first_file(struct trib_trace_reader *reader) {
    struct trib_trace_segment at;

    if (!reader->regular || strcmp(reader->path, "-") == 0 || trib_trace_name_split(&reader->name, reader->path) != 0)
        return;
    at = reader->segment = trib_trace_segment_of(reader->fd, reader->start, reader->bytes);
    reader->first_number = reader->last_number = at.number;
    uint32_t suffix = reader->name.suffix;
    uint64_t behind_bytes = size_of(reader->fd);
    while (at.number > 0) {
        at.number--;
        suffix++;
        int fd = trib_trace_segment_open(reader->name.base, &suffix, &at, reader->bytes);
        if (fd < 0)
            break;
        reader->first_number = at.number;
        reader->rest_bytes += behind_bytes;
        behind_bytes = size_of(fd);
        close(reader->fd);
        reader->fd = fd;
        reader->start = 0;
        reader->name.suffix = suffix;
    }
    reader->segment.number = reader->first_number;
}

int trib_trace_reader_return(struct trib_trace_reader *reader) {
    uint64_t passed_bytes = reader->passed_bytes, here_bytes = size_of(reader->fd);

    if (reader->segment.number == reader->first_number)
        return 0;
    int rc = open_segment(reader, reader->first_number, reader->name.suffix);
    if (rc)
        return rc;
    reader->rest_bytes += passed_bytes + here_bytes - size_of(reader->fd);
    reader->passed_bytes = 0;
    return 0;
}
