/* SPDX-License-Identifier: Apache-2.0 */
/* MariaDB's redo records: any bytes, whole and in two blocks. The first byte says where to cut. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "innodb/redo_record.h"

#define ROOM 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct trib_redo_cursor whole = {0}, cut = {0};
    struct trib_redo_page pages[ROOM], again[ROOM];

    if (size < 2)
        return 0;
    size_t at = data[0] % size;
    data++;
    size--;
    at = at > size ? size : at;
    int count = trib_redo_read(&whole, data, size, pages, ROOM);
    assert(count >= -22);
    int first = trib_redo_read(&cut, data, at, again, ROOM);
    if (first < 0)
        return 0; /* a record's head lies across the cut: a server never cuts there */
    int second = trib_redo_read(&cut, data + at, size - at, again, ROOM);
    if (count >= 0 && second >= 0) {
        assert(first + second == count);
        assert(whole.skip_bytes == cut.skip_bytes);
        assert(memcmp(&whole.page, &cut.page, sizeof whole.page) == 0);
    }
    return 0;
}
