// SPDX-License-Identifier: Apache-2.0
// The shim's table of descriptors, which trips the breaker where it contradicts itself.
#include "support/catch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "base/breaker.h"
#include "support/descriptors_inside.h"
#include "support/folder.hpp"

TEST_CASE("an entry that says what cannot be trips the breaker") {
    const int what = GENERATE(0, 1, 2);
    trib_test::Folder folder;
    const int fd = open((folder / "a").c_str(), O_CREAT | O_RDWR, 0600);
    REQUIRE(fd > 2);
    trib_broken = 0;
    descriptors_write(fd);
    descriptors_write(fd);
    descriptors_close(fd);
    descriptors_write(fd);
    CHECK(trib_broken == 0);
    descriptors_spoil(fd, what);
    descriptors_close(fd);
    CHECK(trib_broken == 1u << TRIB_CHECK_DESCRIPTORS);
    trib_broken = 0;
    close(fd);
}
