/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded cursor over bytes of DWARF or ELF. Thread safety: one owner. Invariant: at <= end;
 * after a read past the end `failed` is set, the cursor stays at the end and every further read
 * gives 0. */
#ifndef TRIB_SIGNATURE_READER_H
#define TRIB_SIGNATURE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct trib_reader {
    const uint8_t *at, *end;
    bool failed;
};

static inline struct trib_reader trib_reader_over(uintptr_t start, uintptr_t end) {
    return (struct trib_reader){(const uint8_t *)start, (const uint8_t *)end, false};
}

static inline uint64_t trib_read_bytes(struct trib_reader *reader, unsigned bytes) {
    uint64_t value = 0; /* little endian, as both supported machines are */
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->failed = true;
        reader->at = reader->end;
        return 0;
    }
    memcpy(&value, reader->at, bytes);
    reader->at += bytes;
    return value;
}

static inline uint8_t trib_read_u8(struct trib_reader *reader) {
    return (uint8_t)trib_read_bytes(reader, 1);
}

/* `bytes` wide two's complement. */
static inline int64_t trib_read_signed(struct trib_reader *reader, unsigned bytes) {
    unsigned shift = 64 - 8 * bytes;
    return (int64_t)(trib_read_bytes(reader, bytes) << shift) >> shift;
}

static inline void trib_read_skip(struct trib_reader *reader, uint64_t bytes) {
    if ((uint64_t)(reader->end - reader->at) < bytes) {
        reader->failed = true;
        reader->at = reader->end;
        return;
    }
    reader->at += bytes;
}

static inline uint64_t trib_read_uleb(struct trib_reader *reader) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = trib_read_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static inline int64_t trib_read_sleb(struct trib_reader *reader) {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint8_t byte = trib_read_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if (shift < 64 && (byte & 0x40))
            value |= UINT64_MAX << shift;
        return (int64_t)value;
    }
}

#endif
