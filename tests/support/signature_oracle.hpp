// SPDX-License-Identifier: Apache-2.0
// What a capture should say, according to libunwind. Include in C++ tests that link unwind.
#pragma once

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <link.h>
#include <tributary/signature.h>

#include <unistd.h>

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

namespace oracle {

struct Frame {
    std::string module; // path as the loader knows it; empty for the program itself
    uint64_t offset;
    bool operator==(const Frame &other) const {
        return offset == other.offset && module == other.module;
    }
};

inline bool is_runtime(const std::string &path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    for (const char *prefix : {"libc.so", "ld-linux", "libstdc++", "libgcc_s", "libpthread", "libasan", "libtsan"})
        if (name.compare(0, strlen(prefix), prefix) == 0)
            return true;
    return false;
}

// False if no ELF file holds the address. (dladdr would search the symbols, too: 100 us a frame in
// a large library.)
inline bool locate(uintptr_t address, Frame *out) {
    struct dl_find_object found;
    if (_dl_find_object(reinterpret_cast<void *>(address - 1), &found) != 0)
        return false;
    *out = {found.dlfo_link_map->l_name, address - found.dlfo_link_map->l_addr};
    return true;
}

// All return addresses from that of the function owning `frame` outwards. Must be called (at any
// depth) below it.
__attribute__((noinline)) inline std::vector<uintptr_t> walk(void *frame) {
    std::vector<uintptr_t> found;
    unw_context_t context;
    unw_cursor_t cursor;
    const uintptr_t first = static_cast<uintptr_t *>(frame)[1];
    const uintptr_t above = reinterpret_cast<uintptr_t>(frame) + 16;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    bool on = false;
    while (found.size() < 256 && unw_step(&cursor) > 0) {
        unw_word_t ip, sp;
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        unw_get_reg(&cursor, UNW_REG_SP, &sp);
        on = on || (ip == first && sp >= above);
        if (on)
            found.push_back(ip);
    }
    return found;
}

// The frames that a capture of that depth should have: stop outside mapped files, drop thread
// roots, cut.
inline std::vector<Frame> expect(void *frame, unsigned depth) {
    std::vector<Frame> frames;
    bool complete = true;
    for (uintptr_t address : walk(frame)) {
        Frame one;
        complete = locate(address, &one);
        if (!complete)
            break;
        frames.push_back(one);
    }
    if (complete && !frames.empty() && frames.size() < 256) {
        frames.pop_back(); // _start or clone
        while (!frames.empty() && is_runtime(frames.back().module))
            frames.pop_back();
    }
    if (frames.size() > depth)
        frames.resize(depth);
    return frames;
}

inline std::vector<Frame> captured(uint64_t signature) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    std::vector<Frame> result;
    char self[4096] = "";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length < 0 ? 0 : length] = '\0';
    const unsigned count = trib_signature_frames(signature, frames, TRIB_SIGNATURE_DEPTH_MAX);
    for (unsigned i = 0; i < count; i++) {
        struct trib_module module;
        if (trib_signature_module(frames[i].module, &module) != 0)
            return {};
        result.push_back({strcmp(module.path, self) ? module.path : "", frames[i].offset_bytes});
    }
    return result;
}

inline std::ostream &operator<<(std::ostream &out, const Frame &frame) {
    return out << "\n  " << (frame.module.empty() ? "self" : frame.module) << "+0x" << std::hex << frame.offset
               << std::dec;
}

} // namespace oracle
