/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile event files. The first byte of an input chooses what the rest is:
 *   bit 0 clear: a whole file, as it is (file and block headers, checksums);
 *   bit 0 set:   payloads; the harness puts right headers and checksums around them, which no
 * fuzzer would guess, so that the item and event decoders are reached. Each payload has a 2-byte
 * length and a byte of items before it. Bits 1 and 2 are allow_truncated and follow. With bit 3 the first half is the
 * file before, NAME.1, with a right end block if it is of payloads. What can be read is written again, in files as
 * small as they may be, and must read back the same. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_BYTES_MAX (1u << 20)
#define EVENTS_MAX     4096u

static char folder[64], input_path[96], earlier_path[96], copy_path[96], copied_path[96];

static void remove_files(void) {
    unlink(input_path);
    unlink(earlier_path);
    unlink(copy_path);
    unlink(copied_path);
}

static void remove_folder(void) {
    remove_files();
    rmdir(folder);
}

static void make_folder(void) {
    bool has_memory = access("/dev/shm", W_OK) == 0;

    snprintf(folder, sizeof folder, "%s/trace-fuzz-XXXXXX", has_memory ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder))
        abort();
    snprintf(input_path, sizeof input_path, "%s/input", folder);
    snprintf(earlier_path, sizeof earlier_path, "%s/input.1", folder);
    snprintf(copy_path, sizeof copy_path, "%s/copy", folder);
    snprintf(copied_path, sizeof copied_path, "%s/copy.1", folder);
    atexit(remove_folder);
}

static void check(int condition) {
    if (!condition)
        abort();
}

static void write_file(const char *path, const uint8_t *bytes, size_t length_bytes) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    check(fd >= 0 && write(fd, bytes, length_bytes) == (ssize_t)length_bytes);
    close(fd);
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

/* The writer is opened when there is something to write: most inputs are refused at once, and it is
 * not small. */
static void copy_item(struct trib_trace_writer **writer_slot, const char *path, const struct trib_trace_item *item) {
    const struct trib_trace_limits limits = {.max_bytes = TRIB_TRACE_MAX_BYTES_MIN, .keep = 1};
    int rc = *writer_slot ? 0 : trib_trace_writer_open_within(writer_slot, path, &limits, NULL);
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
static size_t read_all(const char *path, const struct trib_trace_read_options *options, const char *copy,
                       struct trib_event *events) {
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
        if (copy)
            copy_item(&writer, copy, &item);
    }
    check(trib_trace_writer_close(writer) == 0);
    check(rc >= 0 || error.text[0] || options->follow);
    uint64_t position, length;
    trib_trace_progress(reader, &position, &length);
    check(position <= length || options->follow);
    check(strlen(trib_trace_stop_reason(reader)) < TRIB_TRACE_REASON_BYTES);
    trib_trace_reader_close(reader);
    return count;
}

/* What an end block must say of payloads; false if they cannot be read. */
static bool count_totals(const char *path, struct trib_trace_totals *totals) {
    const struct trib_trace_read_options options = {.allow_truncated = true};
    static struct trib_trace_item item;
    struct trib_trace_reader *reader = NULL;
    int rc = trib_trace_reader_open(&reader, path, &options, NULL);

    while (rc >= 0 && (rc = trib_trace_next(reader, &item, NULL)) == 1) {
        if (item.kind != TRIB_TRACE_EVENT)
            continue;
        totals->events++;
        totals->written_bytes += item.event.kind == TRIB_EVENT_WRITE ? item.event.length_bytes : 0;
    }
    trib_trace_reader_close(reader);
    return rc == 0;
}

static size_t append_end(uint8_t *file, size_t length_bytes) {
    struct trib_trace_totals totals = {0};

    if (!count_totals(earlier_path, &totals) || length_bytes + 128 > FILE_BYTES_MAX)
        return length_bytes;
    for (size_t at = TRIB_TRACE_HEADER_BYTES; at < length_bytes; totals.blocks++) {
        totals.items += trib_load32(file + at + 16);
        at += TRIB_TRACE_BLOCK_HEADER_BYTES + trib_load32(file + at + 4);
    }
    return (size_t)(trib_trace_seal_end(file + length_bytes, &totals) - file);
}

static void make_input(const char *path, bool is_payloads, const uint8_t *bytes, size_t length_bytes) {
    static uint8_t file[FILE_BYTES_MAX];

    if (!is_payloads) {
        write_file(path, bytes, length_bytes);
        return;
    }
    length_bytes = wrap_payloads(bytes, length_bytes, file);
    write_file(path, file, length_bytes);
    if (path == earlier_path)
        write_file(path, file, append_end(file, length_bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct trib_event events[EVENTS_MAX], again[EVENTS_MAX];
    if (size < 1 || size > FILE_BYTES_MAX)
        return 0;
    if (!folder[0])
        make_folder();
    remove_files();
    const struct trib_trace_read_options options = {.allow_truncated = data[0] & 2, .follow = data[0] & 4};
    size_t earlier_bytes = data[0] & 8 ? (size - 1) / 2 : 0;
    if (earlier_bytes)
        make_input(earlier_path, data[0] & 1, data + 1, earlier_bytes);
    make_input(input_path, data[0] & 1, data + 1 + earlier_bytes, size - 1 - earlier_bytes);

    size_t count = read_all(input_path, &options, copy_path, events);
    const struct trib_trace_read_options strict = {0};
    check(count == 0 || read_all(copy_path, &strict, NULL, again) == count);
    check(memcmp(events, again, count * sizeof *events) == 0);
    return 0;
}
