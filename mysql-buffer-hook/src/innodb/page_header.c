/* SPDX-License-Identifier: Apache-2.0 */
#include "innodb/page_header.h"

#include <errno.h>

#include <tributary/page.h>

enum offsets {
    AT_PAGE = 4,
    AT_LSN = 16,
    AT_TYPE = 24,
    AT_KEY_VERSION = 26,   /* MariaDB: of the encryption key, 0 = plain; not on page 0 of the old format */
    AT_ORIGINAL_TYPE = 28, /* MySQL: of a compressed or encrypted page */
    AT_SPACE = 34,
    AT_LEVEL = 64, /* PAGE_HEADER 38 + PAGE_LEVEL 26 */
    AT_INDEX = 66, /* PAGE_INDEX_ID 28 */
};

enum types {
    UNDO_LOG = 2,
    LAST_OF_BOTH = 13,
    MYSQL_COMPRESSED = 14,
    MYSQL_ENCRYPTED_RTREE = 17,
    INSTANT = 18, /* MariaDB: clustered root after ALTER TABLE; MySQL: SDI_BLOB */
    MYSQL_LAST = 29,
    SDI = 17853,
    RTREE = 17854,
    INDEX = 17855,
    MARIADB_COMPRESSED = 34354,
    MARIADB_COMPRESSED_ENCRYPTED = 37401,
    MARIADB_COMPRESSED_MARK = 0x8000, /* full_crc32: the low byte is the size in units of 256 bytes */
    MARIADB_RESERVED = 0x7f00,
};

static uint16_t get16(const uint8_t *at) {
    return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t get32(const uint8_t *at) {
    return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static uint64_t get64(const uint8_t *at) {
    return (uint64_t)get32(at) << 32 | get32(at + 4);
}

bool trib_page_header_is_zero(const uint8_t *bytes, size_t length_bytes) {
    uint8_t any = 0;

    for (size_t i = 0; i < length_bytes && i < TRIB_PAGE_HEADER_BYTES; i++)
        any |= bytes[i];
    return any == 0;
}

/* Types up to 29 by number; MySQL's, of which MariaDB has those up to 13. */
static uint8_t class_of_small(uint16_t type) {
    static const uint8_t classes[MYSQL_LAST + 1] = {
        TRIB_PAGE_ALLOCATED,     TRIB_PAGE_UNKNOWN,      TRIB_PAGE_UNDO,         TRIB_PAGE_SPACE_MAP, /* inode */
        TRIB_PAGE_CHANGE_BUFFER, /* free list, bitmap */
        TRIB_PAGE_CHANGE_BUFFER, TRIB_PAGE_TRANSACTIONS, TRIB_PAGE_TRANSACTIONS, TRIB_PAGE_SPACE_MAP,
        TRIB_PAGE_SPACE_MAP,     TRIB_PAGE_LARGE_VALUE,  TRIB_PAGE_LARGE_VALUE,  TRIB_PAGE_LARGE_VALUE,
        TRIB_PAGE_UNKNOWN,       TRIB_PAGE_INDEX,        TRIB_PAGE_INDEX,        TRIB_PAGE_INDEX,
        TRIB_PAGE_SPATIAL,       TRIB_PAGE_DICTIONARY,   TRIB_PAGE_DICTIONARY,   TRIB_PAGE_TRANSACTIONS,
        TRIB_PAGE_TRANSACTIONS, /* legacy doublewrite, rollback segment array */
        TRIB_PAGE_LARGE_VALUE,   TRIB_PAGE_LARGE_VALUE,  TRIB_PAGE_LARGE_VALUE,  TRIB_PAGE_LARGE_VALUE,
        TRIB_PAGE_LARGE_VALUE,   TRIB_PAGE_LARGE_VALUE,  TRIB_PAGE_LARGE_VALUE,  TRIB_PAGE_LARGE_VALUE};

    return classes[type];
}

static bool is_tree(uint16_t type, enum trib_page_dialect dialect) {
    return type == INDEX || type == RTREE || type == SDI || (dialect == TRIB_DIALECT_MARIADB && type == INSTANT);
}

/* The type as if the page were plain. *hidden: what follows the file header cannot be read. -EINVAL: no such type. */
static int plain_type(const uint8_t *bytes, enum trib_page_dialect dialect, uint16_t *type, bool *hidden) {
    uint16_t stored = get16(bytes + AT_TYPE);
    bool mysql = dialect == TRIB_DIALECT_MYSQL;

    *hidden = mysql ? stored >= MYSQL_COMPRESSED && stored <= MYSQL_ENCRYPTED_RTREE
                    : get32(bytes + AT_PAGE) != 0 && get32(bytes + AT_KEY_VERSION) != 0 && stored != RTREE;
    if (mysql && *hidden)
        stored = get16(bytes + AT_ORIGINAL_TYPE);
    if (!mysql && (stored == MARIADB_COMPRESSED || stored == MARIADB_COMPRESSED_ENCRYPTED ||
                   (stored & MARIADB_COMPRESSED_MARK && !(stored & MARIADB_RESERVED)))) {
        *hidden = true;
        stored = INDEX; /* what it was is compressed, too; only tables are */
    }
    if (stored > (mysql ? MYSQL_LAST : LAST_OF_BOTH) && !is_tree(stored, dialect))
        return -EINVAL;
    *type = stored;
    return 0;
}

/* What is encrypted without saying so (MariaDB's full_crc32: only the table's flags know) has a level and an index id
 * that no tree has. */
#define LEVEL_MAX  100u /* BTR_MAX_LEVELS */
#define INDEX_BITS 48u

static void read_tree(const uint8_t *bytes, struct trib_page_header *out) {
    uint16_t level = get16(bytes + AT_LEVEL);
    uint64_t index = get64(bytes + AT_INDEX);
    bool hidden = level > LEVEL_MAX || index >> INDEX_BITS;

    if (out->type == SDI)
        out->page_class = TRIB_PAGE_DICTIONARY;
    else if (out->type == RTREE)
        out->page_class = TRIB_PAGE_SPATIAL;
    else
        out->page_class = hidden ? TRIB_PAGE_INDEX : level ? TRIB_PAGE_NODE : TRIB_PAGE_LEAF;
    if (!hidden) {
        out->level = (int8_t)level;
        out->index = index;
    }
}

int trib_page_header_parse(const uint8_t *bytes, size_t length_bytes, enum trib_page_dialect dialect,
                           struct trib_page_header *out) {
    struct trib_page_header header = {.level = TRIB_LEVEL_UNKNOWN};
    bool hidden;

    if (length_bytes < TRIB_PAGE_HEADER_BYTES || plain_type(bytes, dialect, &header.type, &hidden))
        return -EINVAL;
    header.space = get32(bytes + AT_SPACE);
    header.page = get32(bytes + AT_PAGE);
    header.lsn = get64(bytes + AT_LSN);
    if (!is_tree(header.type, dialect))
        header.page_class = class_of_small(header.type);
    else if (hidden)
        header.page_class = header.type == RTREE ? TRIB_PAGE_SPATIAL : TRIB_PAGE_INDEX;
    else
        read_tree(bytes, &header);
    *out = header;
    return 0;
}

uint32_t trib_page_bytes_at(uint32_t page, uint64_t offset_bytes, uint32_t page_bytes) {
    if (page == 0)
        return offset_bytes == 0 ? page_bytes : 0;
    uint64_t bytes = offset_bytes / page;
    bool possible = bytes * page == offset_bytes && bytes >= TRIB_PAGE_BYTES_MIN && bytes <= TRIB_PAGE_BYTES_MAX &&
                    (bytes & (bytes - 1)) == 0;
    return possible ? (uint32_t)bytes : 0;
}

uint16_t trib_page_owner(const struct trib_page_header *header) {
    uint64_t hash = ((uint64_t)header->space << 32 ^ header->index) * 0x9E3779B97F4A7C15ull;

    hash ^= hash >> 29;
    hash *= 0xD6E8FEB86659FD93ull;
    uint16_t owner = (uint16_t)(hash >> 48);
    return owner ? owner : 1;
}
