// SPDX-License-Identifier: Apache-2.0
// A test that cannot run on this machine, or not as this user, says so, and ctest counts it as skipped, not as passed.
// Only before a test's first check: a skipped test counts as skipped even if it fails.
#pragma once

#include <iostream>
#include <string>

#include <unistd.h>

namespace trib_test {

// tests/CMakeLists.txt has the words.
inline void skip(const std::string &why) {
    std::cout << "SKIPPED: " << why << std::endl;
}

inline bool is_sanitized() {
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
    return true;
#else
    return false;
#endif
}

inline bool is_root_or_skips(const std::string &why) {
    if (geteuid() != 0)
        skip("not root: " + why);
    return geteuid() == 0;
}

} // namespace trib_test
