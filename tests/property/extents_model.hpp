// SPDX-License-Identifier: Apache-2.0
// What live extents should do, written as plainly as possible: per file a sorted map of runs with
// exact births. Used by the tests of extents; nothing of it is shared with the code under test.
#pragma once

#include <tributary/event.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "lifetime/extents.h"

namespace extents_model {

struct Run {
    uint64_t length;
    uint32_t attribute;
    uint16_t stream;
    long double birth; // exact mean over the bytes
};

struct Death {
    uint32_t attribute;
    uint64_t file, offset, length;
    long double age;
    uint16_t stream;
    uint8_t cause;
};

struct Write {
    uint64_t file, offset, length;
    uint32_t attribute;
    uint16_t stream;
    uint64_t clock;
};

class Model {
  public:
    std::map<uint64_t, std::map<uint64_t, Run>> files;

    std::vector<Death> kill(uint64_t file, uint64_t from, uint64_t to, uint64_t clock, uint8_t cause) {
        std::vector<Death> deaths;
        auto &runs = files[file];
        auto first = runs.lower_bound(from);
        if (first != runs.begin())
            first--;
        std::vector<std::pair<uint64_t, Run>> touched;
        for (auto run = first; run != runs.end() && run->first < to; run++)
            touched.push_back(*run);
        for (auto &[offset, run] : touched) {
            uint64_t end = offset + run.length, a = std::max(offset, from), b = std::min(end, to);
            if (a >= b)
                continue;
            runs.erase(offset);
            long double age = std::max<long double>(0, clock - run.birth);
            deaths.push_back({run.attribute, file, a, b - a, age, run.stream, cause});
            if (offset < a)
                runs[offset] = {a - offset, run.attribute, run.stream, run.birth};
            if (b < end)
                runs[b] = {end - b, run.attribute, run.stream, run.birth};
        }
        if (runs.empty())
            files.erase(file);
        return deaths;
    }

    std::vector<Death> write(const Write &w) {
        auto deaths = kill(w.file, w.offset, w.offset + w.length, w.clock, TRIB_CAUSE_OVERWRITE);
        auto &runs = files[w.file];
        auto next = runs.lower_bound(w.offset);
        if (next != runs.begin() && grows(*std::prev(next), w, next == runs.end() && deaths.empty()))
            return deaths;
        runs[w.offset] = {w.length, w.attribute, w.stream, (long double)w.clock};
        return deaths;
    }

    uint64_t run_count() const {
        uint64_t n = 0;
        for (auto &[file, runs] : files)
            n += runs.size();
        return n;
    }

  private:
    static bool grows(std::pair<const uint64_t, Run> &before, const Write &w, bool append) {
        auto &[offset, run] = before;
        if (offset + run.length != w.offset || run.attribute != w.attribute || run.stream != w.stream)
            return false;
        uint64_t stored = (uint64_t)run.birth / 64 * 64; // births are kept in units of 64 bytes
        if (!append && w.clock > stored + 1048576 /* a mebibyte of writes, docs/decisions/0004-state-file.md */)
            return false;
        run.birth = (run.birth * run.length + (long double)w.clock * w.length) / (run.length + w.length);
        run.length += w.length;
        return true;
    }
};

} // namespace extents_model
