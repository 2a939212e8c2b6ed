// SPDX-License-Identifier: Apache-2.0
// A private daemon ends its trace a moment after the last process of a command.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "trace/trace.h"

namespace trib_test {

inline void wait_for_end_of(const std::string &trace) {
    auto item = std::make_unique<trib_trace_item>();
    for (int i = 0; i < 1000; i++) {
        trib_trace_reader *reader = nullptr;
        trib_error error{};
        int code = trib_trace_reader_open(&reader, trace.c_str(), nullptr, &error);
        while (code == 0 && (code = trib_trace_next(reader, item.get(), &error)) == 1)
            code = 0;
        if (reader)
            trib_trace_reader_close(reader);
        if (code == 0)
            return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

} // namespace trib_test
