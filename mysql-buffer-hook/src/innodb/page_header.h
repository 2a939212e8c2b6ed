/* SPDX-License-Identifier: Apache-2.0 */
/* What the first bytes of a page of InnoDB say (MySQL 8.0 to 9.x, MariaDB 10.5 and later; sources:
 * storage/innobase/include/ fil0types.h, fil0fil.h, page0types.h, buf0flu.cc). Pure functions on hostile bytes.
 *
 * A flushed page says which page it is. If that is not the page that belongs at the offset where it is written, it is a
 * copy: MariaDB keeps its doublewrite buffer inside ibdata1. */
#ifndef TRIB_BUFFER_PAGE_HEADER_H
#define TRIB_BUFFER_PAGE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_PAGE_HEADER_BYTES 74u   /* up to and with the index id */
#define TRIB_PAGE_BYTES_MIN    1024u /* ROW_FORMAT=COMPRESSED, KEY_BLOCK_SIZE=1 */
#define TRIB_PAGE_BYTES_MAX    65536u

/* Page types 14 to 18 and those above 34353 mean different things to the two. */
enum trib_page_dialect { TRIB_DIALECT_MYSQL, TRIB_DIALECT_MARIADB };

struct trib_page_header {
    uint32_t space, page;
    uint64_t lsn;
    uint64_t index;     /* 0 = none, or not readable */
    uint16_t type;      /* of the page before it was compressed or encrypted, where that is still readable */
    uint8_t page_class; /* enum trib_page_class */
    int8_t level;       /* TRIB_LEVEL_UNKNOWN */
};

/* All of the header that can be read is zero: the file grows, or the page was never used. */
bool trib_page_header_is_zero(const uint8_t *bytes, size_t length_bytes);

/* 0; -EINVAL (fewer than TRIB_PAGE_HEADER_BYTES, or a page type that there is not). */
int trib_page_header_parse(const uint8_t *bytes, size_t length_bytes, enum trib_page_dialect dialect,
                           struct trib_page_header *out);

/* Bytes that one page takes in its file if page number `page` begins at `offset_bytes`; 0 if it cannot begin there. The
 * first page of a file tells nothing of its size: `page_bytes`, that of the server. */
uint32_t trib_page_bytes_at(uint32_t page, uint64_t offset_bytes, uint32_t page_bytes);

/* 16-bit hash of the space and index, never 0. */
uint16_t trib_page_owner(const struct trib_page_header *header);

TRIB_C_END
#endif
