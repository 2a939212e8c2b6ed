// SPDX-License-Identifier: Apache-2.0
// Hand-made pages of InnoDB and writes of them, as the shim would tell of them.
#pragma once
#include <cstdint>
#include <sys/uio.h>
#include <vector>

#include <tributary/page.h>

#include "shim.h"

namespace trib_test {

constexpr uint64_t kNativeSignature = 0x1234; // "the writer's own call path"

inline void put(uint8_t *at, unsigned bytes, uint64_t value) {
    while (bytes--) {
        at[bytes] = static_cast<uint8_t>(value);
        value >>= 8;
    }
}

struct PageSpec {
    uint32_t space, page;
    uint16_t type = 17855; // FIL_PAGE_INDEX
    uint16_t level = 0;
    uint64_t index = 77, lsn = 5000;
};

inline std::vector<uint8_t> make_page(const PageSpec &spec, size_t bytes = 16384) {
    std::vector<uint8_t> page(bytes, 0);
    put(&page[4], 4, spec.page);
    put(&page[16], 8, spec.lsn);
    put(&page[24], 2, spec.type);
    put(&page[34], 4, spec.space);
    put(&page[64], 2, spec.level);
    put(&page[66], 8, spec.index);
    return page;
}

struct Identified {
    uint64_t bytes;
    trib_context who;
};

inline Identified identify(trib_shim_identify *identify, uint64_t file, uint64_t offset,
                           const std::vector<uint8_t> &data, uint8_t kind = TRIB_FILE_DATABASE) {
    iovec part = {const_cast<uint8_t *>(data.data()), data.size()};
    trib_shim_write write{};
    write.file = file;
    write.offset_bytes = offset;
    write.length_bytes = data.size();
    write.parts = &part;
    write.part_count = 1;
    write.file_kind = kind;
    Identified got{0, {}};
    got.who.file_kind = kind;
    got.who.io_activity = TRIB_ACTIVITY_UNKNOWN;
    got.who.level = TRIB_LEVEL_UNKNOWN;
    got.bytes = identify(&write, &got.who);
    return got;
}

} // namespace trib_test
