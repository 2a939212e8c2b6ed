/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of an event file: where each field of the file header and of a block header lies
 * (docs/formats/trace.md). Everything is little-endian. Pure functions; private to the trace room.
 */
#ifndef TRIB_TRACE_FORMAT_H
#define TRIB_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "trace/trace.h"

/* The first byte is no text, the line ends and Ctrl-Z reveal a transfer that "translated" them
 * (PNG's recipe). */
#define TRIB_TRACE_MAGIC              "\x89TRIB\r\n\x1a"
#define TRIB_TRACE_MAGIC_BYTES        8u
#define TRIB_TRACE_HEADER_BYTES       32u

#define TRIB_TRACE_BLOCK_MAGIC        0x4B4C4254u /* "TBLK" */
#define TRIB_TRACE_BLOCK_HEADER_BYTES 40u
#define TRIB_TRACE_PAYLOAD_BYTES      65536u /* at most */
#define TRIB_TRACE_RESTART            1u     /* flag: dictionaries and predictions start afresh */

enum trib_trace_block_type { TRIB_TRACE_BLOCK_ITEMS = 1, TRIB_TRACE_BLOCK_END = 2 };

/* Items of these kinds and above (up to 31) may be skipped by a reader that does not know them;
 * below, they may not. */
#define TRIB_TRACE_OPTIONAL_ITEMS 16u

/* The two optional items that this version knows; a reader keeps them to itself. Which file of which recording this is:
 * u64 recording, u64 number. Why recording stopped: u8 enum trib_trace_stop, text. */
enum trib_trace_hidden_item { TRIB_TRACE_SEGMENT = 16, TRIB_TRACE_STOP = 17 };
enum trib_trace_stop {
    TRIB_TRACE_STOP_SIZE = 1,   /* max_bytes, and no earlier file may be kept */
    TRIB_TRACE_STOP_FLOOR = 2,  /* floor_bytes */
    TRIB_TRACE_STOP_WRITE = 3,  /* the file system refused */
    TRIB_TRACE_STOP_ROTATE = 4, /* the next file could not be begun */
};
#define TRIB_TRACE_SEGMENT_BYTES 16u
#define TRIB_TRACE_REASON_BYTES  256u /* with its NUL; of a stop that we write */

/* Payload of the end block: items, events, bytes of WRITE events, blocks before this one. */
#define TRIB_TRACE_END_BYTES 32u

struct trib_trace_totals {
    uint64_t items, events, written_bytes, blocks;
};

struct trib_trace_block {
    uint64_t sequence; /* items in the file before this block */
    uint64_t payload_hash;
    uint32_t payload_bytes, items;
    uint8_t type, flags;
};

/* Byte order is spelled out: compilers turn these into single moves on little-endian machines. */
static inline void trib_store16(uint8_t *at, uint16_t v) {
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

static inline void trib_store32(uint8_t *at, uint32_t v) {
    trib_store16(at, (uint16_t)v);
    trib_store16(at + 2, (uint16_t)(v >> 16));
}

static inline void trib_store64(uint8_t *at, uint64_t v) {
    trib_store32(at, (uint32_t)v);
    trib_store32(at + 4, (uint32_t)(v >> 32));
}

static inline uint16_t trib_load16(const uint8_t *at) {
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t trib_load32(const uint8_t *at) {
    return trib_load16(at) | (uint32_t)trib_load16(at + 2) << 16;
}

static inline uint64_t trib_load64(const uint8_t *at) {
    return trib_load32(at) | (uint64_t)trib_load32(at + 4) << 32;
}

/* What a message shows of a path: its end tells files apart, and the reason must fit after it. */
static inline const char *trib_trace_path_shown(const char *path) {
    size_t length_bytes = strlen(path);
    return length_bytes > 300 ? path + length_bytes - 300 : path;
}

static inline bool trib_trace_is_magic(const uint8_t *bytes) {
    return memcmp(bytes, TRIB_TRACE_MAGIC, TRIB_TRACE_MAGIC_BYTES) == 0;
}

static inline void trib_trace_pack_header(uint8_t bytes[TRIB_TRACE_HEADER_BYTES]) {
    memset(bytes, 0, TRIB_TRACE_HEADER_BYTES);
    memcpy(bytes, TRIB_TRACE_MAGIC, TRIB_TRACE_MAGIC_BYTES);
    trib_store16(bytes + 8, TRIB_TRACE_VERSION);
    trib_store64(bytes + 24, trib_hash(bytes, 24));
}

static inline uint16_t trib_trace_header_version(const uint8_t bytes[TRIB_TRACE_HEADER_BYTES]) {
    return trib_load16(bytes + 8);
}

static inline bool trib_trace_header_intact(const uint8_t bytes[TRIB_TRACE_HEADER_BYTES]) {
    return trib_load64(bytes + 24) == trib_hash(bytes, 24);
}

static inline void trib_trace_block_pack(uint8_t bytes[TRIB_TRACE_BLOCK_HEADER_BYTES],
                                         const struct trib_trace_block *block) {
    trib_store32(bytes, TRIB_TRACE_BLOCK_MAGIC);
    trib_store32(bytes + 4, block->payload_bytes);
    trib_store64(bytes + 8, block->sequence);
    trib_store32(bytes + 16, block->items);
    bytes[20] = block->type;
    bytes[21] = block->flags;
    trib_store16(bytes + 22, 0);
    trib_store64(bytes + 24, block->payload_hash);
    trib_store64(bytes + 32, trib_hash(bytes, 32));
}

/* The header has a checksum of its own, so that its length can be trusted before the payload is
 * there. Returns NULL, or what is wrong. */
static inline const char *trib_trace_block_unpack(struct trib_trace_block *out,
                                                  const uint8_t bytes[TRIB_TRACE_BLOCK_HEADER_BYTES]) {
    if (trib_load32(bytes) != TRIB_TRACE_BLOCK_MAGIC)
        return trib_trace_is_magic(bytes) ? "a second trace begins here (concatenated files?)"
                                          : "no block begins here (wrong magic number)";
    if (trib_load64(bytes + 32) != trib_hash(bytes, 32))
        return "block header is damaged (checksum differs)";
    out->sequence = trib_load64(bytes + 8);
    out->payload_hash = trib_load64(bytes + 24);
    out->payload_bytes = trib_load32(bytes + 4);
    out->items = trib_load32(bytes + 16);
    out->type = bytes[20];
    out->flags = bytes[21];
    if (out->payload_bytes > TRIB_TRACE_PAYLOAD_BYTES)
        return "block is longer than the format allows";
    if (out->type != TRIB_TRACE_BLOCK_ITEMS && out->type != TRIB_TRACE_BLOCK_END)
        return "block has an unknown type";
    if ((out->flags & ~TRIB_TRACE_RESTART) || trib_load16(bytes + 22))
        return "block has unknown flags";
    return NULL;
}

static inline void trib_trace_pack_totals(uint8_t bytes[TRIB_TRACE_END_BYTES], const struct trib_trace_totals *t) {
    trib_store64(bytes, t->items);
    trib_store64(bytes + 8, t->events);
    trib_store64(bytes + 16, t->written_bytes);
    trib_store64(bytes + 24, t->blocks);
}

static inline void trib_trace_unpack_totals(struct trib_trace_totals *out, const uint8_t bytes[TRIB_TRACE_END_BYTES]) {
    out->items = trib_load64(bytes);
    out->events = trib_load64(bytes + 8);
    out->written_bytes = trib_load64(bytes + 16);
    out->blocks = trib_load64(bytes + 24);
}

/* Packs a block around `payload_bytes` that lie behind its header. Returns its end. */
static inline uint8_t *trib_trace_seal(uint8_t *bytes, uint32_t payload_bytes, struct trib_trace_block block) {
    block.payload_bytes = payload_bytes;
    block.payload_hash = trib_hash(bytes + TRIB_TRACE_BLOCK_HEADER_BYTES, payload_bytes);
    trib_trace_block_pack(bytes, &block);
    return bytes + TRIB_TRACE_BLOCK_HEADER_BYTES + payload_bytes;
}

static inline uint8_t *trib_trace_seal_end(uint8_t *bytes, const struct trib_trace_totals *totals) {
    struct trib_trace_block block;
    memset(&block, 0, sizeof block);
    block.sequence = totals->items;
    block.type = TRIB_TRACE_BLOCK_END;
    trib_trace_pack_totals(bytes + TRIB_TRACE_BLOCK_HEADER_BYTES, totals);
    return trib_trace_seal(bytes, TRIB_TRACE_END_BYTES, block);
}

#endif
