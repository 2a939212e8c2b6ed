/* SPDX-License-Identifier: Apache-2.0 */
/* Page headers of InnoDB: any bytes at any offset. The first 9 bytes choose dialect and offset. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <tributary/page.h>

#include "innodb/page_header.h"

static void check(const struct trib_page_header *header, enum trib_page_dialect dialect) {
    struct trib_context who = {.file_kind = TRIB_FILE_DATABASE,
                               .io_activity = trib_page_activity(header->page_class, UINT32_MAX)};

    assert(dialect == TRIB_DIALECT_MYSQL || header->type <= 18 || header->type >= 17853);
    assert(header->page_class < TRIB_PAGE_CLASS_COUNT);
    assert(header->level == TRIB_LEVEL_UNKNOWN || (header->level >= 0 && header->level <= 100));
    assert(trib_page_owner(header) != 0);
    assert(trib_page_is(&who) && trib_page_class_of(&who) == header->page_class);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct trib_page_header header;
    uint64_t offset_bytes;

    if (size < 9)
        return 0;
    enum trib_page_dialect dialect = data[0] & 1 ? TRIB_DIALECT_MARIADB : TRIB_DIALECT_MYSQL;
    memcpy(&offset_bytes, data + 1, 8);
    data += 9;
    size -= 9;
    (void)trib_page_header_is_zero(data, size);
    if (trib_page_header_parse(data, size, dialect, &header))
        return 0;
    check(&header, dialect);
    uint32_t bytes = trib_page_bytes_at(header.page, offset_bytes, 16384);
    assert(bytes == 0 || (bytes & (bytes - 1)) == 0);
    assert(bytes == 0 || (uint64_t)header.page * bytes == offset_bytes);
    return 0;
}
