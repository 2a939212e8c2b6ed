// SPDX-License-Identifier: Apache-2.0
#include "common/failure.h"

#include <cerrno>
#include <cstring>

namespace cli {

static const std::string CUT = " ...";

Failure core_failure(int error, const std::string &sentence) {
    std::string text = sentence;
    if (text.empty())
        text = std::strerror(-error); // NOLINT(concurrency-mt-unsafe): glibc's table of messages is per thread
    if (text.size() > CUT.size() && text.compare(text.size() - CUT.size(), CUT.size(), CUT) == 0)
        text += " (all: trib options)"; // a list of keys that its buffer cut
    return Failure(error == -EINVAL ? EXIT_USAGE : EXIT_RUNTIME, text);
}

} // namespace cli
