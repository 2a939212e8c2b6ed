// SPDX-License-Identifier: Apache-2.0
// A drive that closes itself, and a random source that is the same everywhere (std distributions
// are not).
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "flash/flash.h"

namespace flash {

struct Closer {
    void operator()(trib_flash *f) const {
        trib_flash_close(f);
    }
};
using Drive = std::unique_ptr<trib_flash, Closer>;

inline trib_flash_config config(uint64_t logical_pages, double over_provisioning, uint32_t superblock_pages) {
    trib_flash_config c{};
    c.logical_pages = logical_pages;
    c.over_provisioning = over_provisioning;
    c.superblock_pages = superblock_pages;
    c.victim_choices = 8;
    c.seed = 42;
    return c;
}

// Throws the drive's own sentence, so that a test that misconfigures says why.
inline Drive open(const trib_flash_config &c) {
    trib_flash *f = nullptr;
    trib_error error{};
    if (trib_flash_open(&f, &c, &error))
        throw std::runtime_error(error.text);
    return Drive(f);
}

// For inner loops, where an assertion of the test framework costs more than the write.
inline void write(const Drive &d, uint64_t lba, uint32_t pages, uint16_t stream) {
    if (trib_flash_write(d.get(), lba, pages, stream))
        throw std::runtime_error("a write in range failed");
}

inline trib_flash_stats stats(const Drive &d) {
    trib_flash_stats s;
    trib_flash_statistics(d.get(), &s);
    return s;
}

inline double waf(const Drive &d) {
    trib_flash_stats s = stats(d);
    return 1 + double(s.gc_pages) / double(s.host_pages);
}

inline std::string dump(const Drive &d) {
    char *text = nullptr;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    const int rc = trib_flash_dump(d.get(), out);
    fclose(out);
    std::string result(text, length);
    free(text);
    if (rc)
        throw std::runtime_error("dumping the drive failed");
    return result;
}

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {
    }
    uint64_t next() {
        uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    uint32_t below(uint64_t bound) {
        return uint32_t(((next() >> 32) * bound) >> 32);
    }
    double unit() {
        return double(next() >> 11) * 0x1p-53;
    }

  private:
    uint64_t state_;
};

} // namespace flash
