/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages a mini-transaction of MariaDB 10.5 and later changes, from its redo records alone
 * (storage/innobase/include/ mtr0types.h, mtr0log.h): the records say their length and, unless they go on with the page
 * before, their page.
 *
 *     u8      type and flags: bit 7 same page as the record before; bits 4-6 type; bits 0-3 length - 1 of what follows
 * the first byte, 0 = a length follows varint  length, if bits 0-3 are 0 varint  space, page, unless bit 7
 *     ...
 *
 * Bit 7 with type 0 to 6 without a page before it, within one mini-transaction, is a record about a file. A
 * mini-transaction comes in one or more blocks; a record may continue in the next. Pure functions on hostile bytes. */
#ifndef TRIB_BUFFER_REDO_RECORD_H
#define TRIB_BUFFER_REDO_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

/* Between the blocks of one mini-transaction. Zeroed before the first. */
struct trib_redo_cursor {
    uint32_t skip_bytes; /* of the next block belong to a record that began before */
    uint32_t space, page;
    bool in_page; /* a page has been named */
};

struct trib_redo_page {
    uint32_t space, page;
};

/* Reads one block. Writes at most `capacity` pages, each run of records about one page once, and returns how many there
 * were; more than `capacity` means that the rest is missing. -EINVAL: these bytes are no such records. */
int trib_redo_read(struct trib_redo_cursor *cursor, const uint8_t *block, size_t length_bytes,
                   struct trib_redo_page *pages, int capacity);

TRIB_C_END
#endif
