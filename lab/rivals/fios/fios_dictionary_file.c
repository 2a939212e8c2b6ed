/* SPDX-License-Identifier: Apache-2.0 */
/* Dictionary files, version 1 (docs/formats/dictionary.md): little-endian everywhere, both halves
 * checksummed, every byte accounted for. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/options.h"
#include "rivals/fios/fios_dictionary.h"

#define MAGIC "TRIBFIOS"

enum {
    VERSION = 1,
    HEADER_BYTES = 128,
    AT_VERSION = 8,
    AT_HEADER_BYTES = 12,
    AT_FLAGS = 16,
    AT_CHUNK_BLOCKS = 20,
    AT_CHUNKS = 24,
    AT_STREAMS = 28,
    AT_RANGES = 32,
    AT_THETA = 36,
    AT_FEATURES = 40,
    AT_RESERVED = 44,
    AT_TRAINED = 48,
    AT_CORRELATION = 56,
    AT_RESERVED_REST = 88,
    AT_BODY_HASH = 112,
    AT_HEADER_HASH = 120,
    RANGE_BYTES = 8,
    CHUNK_BLOCKS_MAX = 65536,
    FLAG_DECIMAL = 1,
};

static uint64_t get(const uint8_t *bytes, size_t at, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)bytes[at + i] << 8 * i;
    return value;
}

static uint32_t get32(const uint8_t *bytes, size_t at) {
    return (uint32_t)get(bytes, at, 4);
}

static void put(uint8_t *bytes, size_t at, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; i++)
        bytes[at + i] = (uint8_t)(value >> 8 * i);
}

static double get_double(const uint8_t *bytes, size_t at) {
    uint64_t bits = get(bytes, at, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_double(uint8_t *bytes, size_t at, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(bytes, at, bits, 8);
}

/* Of the base dictionary, with zeros up to a multiple of 8. */
static uint64_t base_bytes(uint64_t chunks) {
    return ((chunks + 1) / 2 + 7) / 8 * 8;
}

static int corrupt(struct trib_error *error, uint64_t at, const char *what) {
    return trib_fail(error, -EBADMSG, "dictionary: offset %" PRIu64 ": %s", at, what);
}

/* ---- reading ---- */

static int check_identity(const uint8_t *bytes, size_t length, struct trib_error *error) {
    if (length < AT_HEADER_BYTES || memcmp(bytes, MAGIC, AT_VERSION) != 0)
        return trib_fail(error, -EPROTO, "dictionary: offset 0: not a dictionary file");
    uint32_t version = get32(bytes, AT_VERSION);
    if (version != VERSION)
        return trib_fail(error, -EPROTO, "dictionary: offset %d: version %u, this program reads %d", AT_VERSION,
                         version, VERSION);
    if (length < HEADER_BYTES)
        return corrupt(error, length, "ends within the header");
    if (get(bytes, AT_HEADER_HASH, 8) != trib_hash(bytes, AT_HEADER_HASH))
        return corrupt(error, AT_HEADER_HASH, "the header's checksum does not match");
    return 0;
}

static int read_correlation(const uint8_t *header, struct trib_fios_training_record *record, struct trib_error *error) {
    for (uint32_t feature = 0; feature < TRIB_FIOS_FEATURES; feature++) {
        size_t at = AT_CORRELATION + 8 * feature;
        double value = get_double(header, at);
        if (!(fabs(value) <= 1))
            return corrupt(error, at, "a correlation is not within -1..1");
        record->correlation[feature] = value;
    }
    return 0;
}

static int read_header(const uint8_t *header, struct trib_fios_training_record *record, struct trib_error *error) {
    uint32_t flags = get32(header, AT_FLAGS);
    *record = (struct trib_fios_training_record){
        .chunks = get32(header, AT_CHUNKS),
        .chunk_blocks = get32(header, AT_CHUNK_BLOCKS),
        .streams = get32(header, AT_STREAMS),
        .theta = get32(header, AT_THETA),
        .features = get32(header, AT_FEATURES),
        .decimal = flags & FLAG_DECIMAL,
        .trained_blocks = get(header, AT_TRAINED, 8),
    };
    if (get32(header, AT_HEADER_BYTES) != HEADER_BYTES)
        return corrupt(error, AT_HEADER_BYTES, "the header is not 128 bytes");
    if (flags & ~(uint32_t)FLAG_DECIMAL)
        return corrupt(error, AT_FLAGS, "unknown flags");
    if (record->chunk_blocks < 1 || record->chunk_blocks > CHUNK_BLOCKS_MAX)
        return corrupt(error, AT_CHUNK_BLOCKS, "a chunk is 1 to 65536 blocks");
    if (record->chunks < 1)
        return corrupt(error, AT_CHUNKS, "no chunks");
    if (record->streams < 1 || record->streams > TRIB_FIOS_STREAMS_MAX)
        return corrupt(error, AT_STREAMS, "streams must be 1 to 16");
    if (record->theta >= TRIB_FIOS_THETAS)
        return corrupt(error, AT_THETA, "theta has five bits");
    if (record->features < 1 || record->features >= 1u << TRIB_FIOS_FEATURES)
        return corrupt(error, AT_FEATURES, "there are four features, and at least one is used");
    if (get32(header, AT_RESERVED) || get(header, AT_RESERVED_REST, 8) || get(header, AT_RESERVED_REST + 8, 8) ||
        get(header, AT_RESERVED_REST + 16, 8))
        return corrupt(error, AT_RESERVED, "reserved bytes are not zero");
    return read_correlation(header, record, error);
}

static int check_base(const uint8_t *base, const struct trib_fios_training_record *record, struct trib_error *error) {
    for (uint64_t half = 0; half < 2 * base_bytes(record->chunks); half++) {
        uint8_t stream = base[half / 2] >> (half % 2 * 4) & 15;
        uint32_t limit = half < record->chunks ? record->streams : 1;
        if (stream >= limit)
            return corrupt(error, HEADER_BYTES + half / 2, "a chunk names a stream that there is not");
    }
    return 0;
}

/* The simplified dictionary must be the one that the base gives. */
static int check_ranges(const uint8_t *bytes, const struct trib_fios_training_record *record,
                        struct trib_error *error) {
    struct trib_fios_dictionary view = {.base = (uint8_t *)bytes + HEADER_BYTES};
    uint64_t at = HEADER_BYTES + base_bytes(record->chunks);
    uint32_t ranges = get32(bytes, AT_RANGES), found = 0;
    uint8_t before = TRIB_FIOS_STREAMS_MAX; /* no stream */
    for (uint32_t chunk = 0; chunk < record->chunks; chunk++) {
        uint8_t stream = trib_fios_base_stream(&view, chunk);
        if (stream == before)
            continue;
        before = stream;
        if (found == ranges)
            return corrupt(error, AT_RANGES, "fewer ranges than the base dictionary has");
        if (get32(bytes, at) != chunk || get32(bytes, at + 4) != stream)
            return corrupt(error, at, "a range differs from the base dictionary");
        at += RANGE_BYTES;
        found++;
    }
    return found == ranges ? 0 : corrupt(error, AT_RANGES, "more ranges than the base has");
}

int trib_fios_dictionary_parse(const uint8_t *bytes, size_t length, struct trib_fios_training_record *record,
                               const uint8_t **base, struct trib_error *error) {
    struct trib_fios_training_record found;
    int rc = check_identity(bytes, length, error);
    if (rc == 0)
        rc = read_header(bytes, &found, error);
    if (rc)
        return rc;
    uint64_t ranges = get32(bytes, AT_RANGES);
    uint64_t total = HEADER_BYTES + base_bytes(found.chunks) + ranges * RANGE_BYTES;
    if (length < total)
        return corrupt(error, length, "truncated");
    if (length > total)
        return corrupt(error, total, "bytes after the end");
    if (get(bytes, AT_BODY_HASH, 8) != trib_hash(bytes + HEADER_BYTES, length - HEADER_BYTES))
        return corrupt(error, AT_BODY_HASH, "the checksum of the dictionaries does not match");
    rc = check_base(bytes + HEADER_BYTES, &found, error);
    if (rc == 0)
        rc = check_ranges(bytes, &found, error);
    if (rc)
        return rc;
    *record = found;
    *base = bytes + HEADER_BYTES;
    return 0;
}

static int read_whole(int fd, uint8_t **out, size_t *length) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return -errno;
    if (!S_ISREG(info.st_mode))
        return -EINVAL;
    uint8_t *bytes = malloc((size_t)info.st_size + 1);
    if (!bytes)
        return -ENOMEM;
    size_t got = 0;
    while (got < (size_t)info.st_size) {
        ssize_t step = read(fd, bytes + got, (size_t)info.st_size - got);
        if (step < 0 && errno == EINTR)
            continue;
        if (step <= 0) {
            int rc = step < 0 ? -errno : -EIO; /* it shrank */
            free(bytes);
            return rc;
        }
        got += (size_t)step;
    }
    *out = bytes;
    *length = got;
    return 0;
}

int trib_fios_dictionary_load(struct trib_fios_dictionary *dictionary, const char *path,
                              struct trib_fios_training_record *record, struct trib_error *error) {
    struct trib_error why = {""};
    struct trib_fios_training_record found;
    const uint8_t *base = NULL;
    uint8_t *bytes = NULL;
    size_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? -errno : read_whole(fd, &bytes, &length);
    if (fd >= 0)
        close(fd);
    if (rc)
        return trib_fail(error, rc, "dictionary %.300s: %s", path, strerror(-rc));
    rc = trib_fios_dictionary_parse(bytes, length, &found, &base, &why);
    if (rc == 0)
        rc = trib_fios_dictionary_open(dictionary, found.chunks);
    if (rc == 0) {
        memcpy(dictionary->base, base, ((size_t)found.chunks + 1) / 2);
        trib_fios_dictionary_reduce(dictionary, 0, found.chunks);
        *record = found;
    }
    free(bytes);
    return rc ? trib_fail(error, rc, "%.300s: %s", path, why.text[0] ? why.text : strerror(-rc)) : 0;
}

/* ---- writing ---- */

static uint32_t count_ranges(const struct trib_fios_dictionary *dictionary) {
    uint32_t ranges = 1;
    for (uint32_t chunk = 1; chunk < dictionary->chunks; chunk++)
        ranges += trib_fios_base_stream(dictionary, chunk) != trib_fios_base_stream(dictionary, chunk - 1);
    return ranges;
}

static void encode_header(uint8_t *bytes, const struct trib_fios_training_record *record, uint32_t ranges) {
    memcpy(bytes, MAGIC, AT_VERSION);
    put(bytes, AT_VERSION, VERSION, 4);
    put(bytes, AT_HEADER_BYTES, HEADER_BYTES, 4);
    put(bytes, AT_FLAGS, record->decimal ? FLAG_DECIMAL : 0, 4);
    put(bytes, AT_CHUNK_BLOCKS, record->chunk_blocks, 4);
    put(bytes, AT_CHUNKS, record->chunks, 4);
    put(bytes, AT_STREAMS, record->streams, 4);
    put(bytes, AT_RANGES, ranges, 4);
    put(bytes, AT_THETA, record->theta, 4);
    put(bytes, AT_FEATURES, record->features, 4);
    put(bytes, AT_TRAINED, record->trained_blocks, 8);
    for (uint32_t feature = 0; feature < TRIB_FIOS_FEATURES; feature++)
        put_double(bytes, AT_CORRELATION + 8 * feature, record->correlation[feature]);
}

static void encode_ranges(uint8_t *at, const struct trib_fios_dictionary *dictionary) {
    for (uint32_t chunk = 0; chunk < dictionary->chunks; chunk++) {
        uint8_t stream = trib_fios_base_stream(dictionary, chunk);
        if (chunk && stream == trib_fios_base_stream(dictionary, chunk - 1))
            continue;
        put(at, 0, chunk, 4);
        put(at, 4, stream, 4);
        at += RANGE_BYTES;
    }
}

static int write_all(int fd, const uint8_t *bytes, size_t length) {
    while (length) {
        ssize_t step = write(fd, bytes, length);
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0)
            return -errno;
        bytes += step;
        length -= (size_t)step;
    }
    return fsync(fd) == 0 ? 0 : -errno;
}

static int replace_file(const char *path, const uint8_t *bytes, size_t length) {
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.new-XXXXXX", path) >= sizeof temporary)
        return -ENAMETOOLONG;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = write_all(fd, bytes, length);
    if (close(fd) != 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && rename(temporary, path) != 0)
        rc = -errno;
    if (rc)
        unlink(temporary);
    return rc;
}

int trib_fios_dictionary_save(const struct trib_fios_dictionary *dictionary, const char *path,
                              const struct trib_fios_training_record *record, struct trib_error *error) {
    uint32_t ranges = count_ranges(dictionary);
    size_t base = (size_t)base_bytes(dictionary->chunks);
    size_t length = HEADER_BYTES + base + (size_t)ranges * RANGE_BYTES;
    uint8_t *bytes = calloc(length, 1);
    if (!bytes)
        return trib_fail(error, -ENOMEM, "dictionary %.300s: out of memory", path);
    encode_header(bytes, record, ranges);
    memcpy(bytes + HEADER_BYTES, dictionary->base, ((size_t)dictionary->chunks + 1) / 2);
    encode_ranges(bytes + HEADER_BYTES + base, dictionary);
    put(bytes, AT_BODY_HASH, trib_hash(bytes + HEADER_BYTES, length - HEADER_BYTES), 8);
    put(bytes, AT_HEADER_HASH, trib_hash(bytes, AT_HEADER_HASH), 8);
    int rc = replace_file(path, bytes, length);
    free(bytes);
    return rc ? trib_fail(error, rc, "dictionary %.300s: %s", path, strerror(-rc)) : 0;
}
