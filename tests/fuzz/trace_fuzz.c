/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile event files. The first byte of an input chooses what the rest is:
 *   bit 0 clear: a whole file, as it is (file and block headers, checksums);
 *   bit 0 set:   payloads; the harness puts right headers and checksums around them, which no
 * fuzzer would guess, so that the item and event decoders are reached. Each payload has a 2-byte
 * length and a byte of items before it. Bits 1 and 2 are allow_truncated and follow. What can be
 * read is written again and must read back the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_BYTES_MAX (1u << 20)
#define EVENTS_MAX     4096u

struct scratch {
    int fd;
    char path[32];
};

static struct scratch scratch_file(const char *name) {
    struct scratch scratch = {.fd = memfd_create(name, 0)};
    if (scratch.fd < 0)
        abort();
    snprintf(scratch.path, sizeof scratch.path, "/proc/self/fd/%d", scratch.fd);
    return scratch;
}

static size_t wrap_payloads(const uint8_t *data, size_t size, uint8_t *file) {
    uint64_t sequence = 0;
    size_t length = TRIB_TRACE_HEADER_BYTES;
    trib_trace_pack_header(file);
    while (size >= 3) {
        struct trib_trace_block block = {.sequence = sequence, .type = TRIB_TRACE_BLOCK_ITEMS};
        block.payload_bytes = trib_load16(data);
        block.items = data[2];
        block.flags = length == TRIB_TRACE_HEADER_BYTES ? TRIB_TRACE_RESTART : 0;
        data += 3;
        size -= 3;
        if (block.payload_bytes > size)
            block.payload_bytes = (uint32_t)size;
        if (length + TRIB_TRACE_BLOCK_HEADER_BYTES + block.payload_bytes > FILE_BYTES_MAX)
            break;
        block.payload_hash = trib_hash(data, block.payload_bytes);
        trib_trace_block_pack(file + length, &block);
        memcpy(file + length + TRIB_TRACE_BLOCK_HEADER_BYTES, data, block.payload_bytes);
        length += TRIB_TRACE_BLOCK_HEADER_BYTES + block.payload_bytes;
        data += block.payload_bytes;
        size -= block.payload_bytes;
        sequence += block.items;
    }
    return length;
}

static void check(int condition) {
    if (!condition)
        abort();
}

/* The writer is opened when there is something to write: most inputs are refused at once, and it is
 * not small. */
static void copy_item(struct trib_trace_writer **writer_slot, const char *path,
                      const struct trib_trace_item *item) {
    int rc = *writer_slot ? 0 : trib_trace_writer_open(writer_slot, path, NULL);
    struct trib_trace_writer *writer = *writer_slot;
    check(rc == 0);
    switch (item->kind) {
    case TRIB_TRACE_EVENT:
        rc = trib_trace_write(writer, &item->event);
        break;
    case TRIB_TRACE_NAME:
        rc = trib_trace_write_name(writer, item->id, item->text);
        break;
    case TRIB_TRACE_NOTE:
        rc = trib_trace_write_note(writer, item->text);
        break;
    case TRIB_TRACE_MODULE:
        rc = trib_trace_write_module(writer, item->module_index, &item->module);
        break;
    case TRIB_TRACE_SIGNATURE:
        rc = trib_trace_write_frames(writer, item->id, item->frames, item->frame_count);
        break;
    case TRIB_TRACE_GAP:
        rc = trib_trace_write_gap(writer, item->gap_events, item->gap_bytes);
        break;
    default:
        abort();
    }
    check(rc == 0);
}

/* Reads everything; fills `events` and, if there is a path for it, copies every item. Returns the
 * number of events. */
static size_t read_all(const char *path, const struct trib_trace_read_options *options,
                       const char *copy_path, struct trib_event *events) {
    static struct trib_trace_item item;
    struct trib_trace_writer *writer = NULL;
    struct trib_trace_reader *reader;
    struct trib_error error = {""};
    size_t count = 0;
    int rc = trib_trace_reader_open(&reader, path, options, &error);
    if (rc) {
        check(rc < 0 && error.text[0]);
        return 0;
    }
    while (count < EVENTS_MAX && (rc = trib_trace_next(reader, &item, &error)) == 1) {
        if (item.kind == TRIB_TRACE_EVENT)
            events[count++] = item.event;
        if (copy_path)
            copy_item(&writer, copy_path, &item);
    }
    check(trib_trace_writer_close(writer) == 0);
    check(rc >= 0 || error.text[0] || options->follow);
    uint64_t position, length;
    trib_trace_progress(reader, &position, &length);
    check(position <= length);
    trib_trace_reader_close(reader);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t file[FILE_BYTES_MAX];
    static struct trib_event events[EVENTS_MAX], again[EVENTS_MAX];
    static struct scratch input, copy;
    if (size < 1 || size > FILE_BYTES_MAX)
        return 0;
    if (!input.path[0]) {
        input = scratch_file("input");
        copy = scratch_file("copy");
    }
    const struct trib_trace_read_options options = {.allow_truncated = data[0] & 2,
                                                    .follow = data[0] & 4};
    const uint8_t *bytes = data + 1;
    size_t length = size - 1;
    if (data[0] & 1) {
        length = wrap_payloads(bytes, length, file);
        bytes = file;
    }
    check(ftruncate(input.fd, 0) == 0 && pwrite(input.fd, bytes, length, 0) == (ssize_t)length);
    check(ftruncate(copy.fd, 0) == 0);

    size_t count = read_all(input.path, &options, copy.path, events);
    const struct trib_trace_read_options strict = {0};
    check(count == 0 || read_all(copy.path, &strict, NULL, again) == count);
    check(memcmp(events, again, count * sizeof *events) == 0);
    return 0;
}
