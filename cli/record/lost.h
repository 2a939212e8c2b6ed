// SPDX-License-Identifier: Apache-2.0
// Why events were lost, or refused by the drive, in a few words.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include <tributary/status.h>

#include "common/table.h"

namespace cli {

// "40 ring full, 2 without a daemon"; "" if nothing was lost.
inline std::string lost_causes(const trib_status &status) {
    std::string text;
    for (const auto &[events, cause] :
         {std::pair(status.lost_full, "ring full"), std::pair(status.lost_killed, "killed"),
          std::pair(status.lost_alone, "without a daemon")})
        if (events)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(events), cause);
    return text;
}

// Why the drive refuses writes: only the emulated one has a size of ours.
inline std::string drive_advice(const std::string &drive) {
    return drive.rfind("emulated", 0) == 0 ? "the emulated drive is full, raise capacity=" : "it refused these writes";
}

} // namespace cli
