/* SPDX-License-Identifier: Apache-2.0 */
#include "state/region.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"

/* Reads all of it or fails; the file's size was checked, so a short read is an error of the file
 * system. */
static int read_at(int fd, void *bytes, size_t length_bytes, uint64_t offset_bytes) {
    char *next = bytes;

    while (length_bytes > 0) {
        ssize_t got = pread(fd, next, length_bytes, (off_t)offset_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        next += got;
        offset_bytes += (uint64_t)got;
        length_bytes -= (size_t)got;
    }
    return 0;
}

union header_page {
    unsigned char bytes[TRIB_STATE_HEADER_BYTES];
    struct trib_state_header header;
};

#define END_OF(field) (offsetof(struct trib_state_header, field) + sizeof(((struct trib_state_header *)0)->field))

/* Bytes of the header that no field owns: a writer of this version leaves them zero. */
static int check_padding(const union header_page *page, struct trib_error *error) {
    static const size_t gaps[][2] = {
        {END_OF(geometry), offsetof(struct trib_state_header, retired_lock)},
        {END_OF(clock_bytes), offsetof(struct trib_state_header, unlinks)},
        {END_OF(retired_changing), offsetof(struct trib_state_header, arena_words)},
        {END_OF(arena_words), TRIB_STATE_HEADER_BYTES},
    };

    for (size_t gap = 0; gap < sizeof gaps / sizeof gaps[0]; gap++) {
        for (size_t i = gaps[gap][0]; i < gaps[gap][1]; i++) {
            if (page->bytes[i] != 0)
                return trib_fail(error, -EBADMSG, "offset %zu: reserved byte is not zero", i);
        }
    }
    return 0;
}

static int check_counters(const struct trib_state_header *header, struct trib_error *error) {
    uint32_t attributes = header->geometry.attributes;
    uint32_t used = header->rows_used, keyed = header->rows_keyed;

    if (used > attributes)
        return trib_fail(error, -EBADMSG, "offset %zu: %" PRIu32 " rows in a table of %" PRIu32,
                         offsetof(struct trib_state_header, rows_used), used, attributes);
    if (keyed > used)
        return trib_fail(error, -EBADMSG, "offset %zu: %" PRIu32 " keys in %" PRIu32 " rows",
                         offsetof(struct trib_state_header, rows_keyed), keyed, used);
    return 0;
}

static bool is_measure(double value) {
    return isfinite(value) && value >= 0;
}

/* What is wrong with a row, or NULL. A row without a key is unfinished work of a process that was
 * killed. */
static const char *row_fault(const struct trib_attribute *row) {
    if (row->generation > TRIB_STATE_GENERATION_MAX)
        return "generation out of range";
    if (row->key == 0)
        return NULL;
    if (row->generation == 0)
        return "a key without a generation";
    if (!is_measure(row->lifetime_mean) || !is_measure(row->lifetime_variance) ||
        !is_measure(row->lifetime_clustered) || !is_measure(row->live_birth_sum))
        return "a lifetime is not a number of bytes";
    return row->reserved ? "reserved field is not zero" : NULL;
}

static int check_rows(int fd, uint32_t rows_used, struct trib_error *error) {
    struct trib_attribute rows[64];
    const char *fault;

    for (uint32_t first = 0; first < rows_used; first += 64) {
        uint32_t count = rows_used - first < 64 ? rows_used - first : 64;
        uint64_t offset = TRIB_STATE_HEADER_BYTES + (uint64_t)first * sizeof rows[0];
        int rc = read_at(fd, rows, count * sizeof rows[0], offset);
        if (rc)
            return trib_fail(error, rc, "offset %" PRIu64 ": %s", offset, strerror(-rc));
        for (uint32_t i = 0; i < count; i++) {
            if ((fault = row_fault(&rows[i])) != NULL)
                return trib_fail(error, -EBADMSG, "offset %" PRIu64 ": %s", offset + i * sizeof rows[0], fault);
        }
    }
    return 0;
}

int trib_state_verify(int fd, const struct trib_state_geometry *geometry, struct trib_error *error) {
    union header_page page;
    int rc = read_at(fd, &page, sizeof page, 0);

    if (rc)
        return trib_fail(error, rc, "offset 0: %s", strerror(-rc));
    if (memcmp(geometry, &page.header.geometry, sizeof *geometry) != 0)
        return trib_fail(error, -EBADMSG, "offset 0: the header changed while it was read");
    rc = check_padding(&page, error);
    if (rc == 0)
        rc = check_counters(&page.header, error);
    return rc ? rc : check_rows(fd, page.header.rows_used, error);
}
