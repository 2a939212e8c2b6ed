// SPDX-License-Identifier: Apache-2.0
// What this machine, or this user, cannot do.
#pragma once
#include <iostream>
#include <string>

namespace trib_test {

// Of a whole test: ctest reports it as skipped, and not as passed.
inline void skip(const std::string &why) {
    std::cout << "SKIPPED: " << why << std::endl;
}

} // namespace trib_test
