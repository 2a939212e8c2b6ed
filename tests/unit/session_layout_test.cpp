// SPDX-License-Identifier: Apache-2.0
// A session file that is damaged, cut, foreign or of another version is refused with a reason.
#include "support/catch.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <tributary/session.h>

#include "support/folder.hpp"
#include "support/pipeline.hpp"

using namespace trib_test;

namespace {

constexpr size_t kGeometryBytes = 48; // docs/formats/session.md

struct Copy {
    Folder folder;
    std::string path = folder / "copy", bytes;
    off_t size = 0;

    // The head of a real session file; the size of the whole one without its bytes.
    Copy() {
        const std::string original = folder / "session";
        Pipeline recorder("policy=none,drive=none,session=" + original, true);
        REQUIRE(recorder.rc() == 0);
        std::ifstream in(original, std::ios::binary | std::ios::ate);
        size = static_cast<off_t>(in.tellg());
        bytes.resize(1 << 16);
        in.seekg(0);
        in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        REQUIRE(in.gcount() == static_cast<std::streamsize>(bytes.size()));
    }
    int join(trib_error *error = nullptr) {
        std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        REQUIRE(truncate(path.c_str(), size) == 0);
        trib_producer *producer = nullptr;
        const int rc = trib_producer_join(&producer, path.c_str(), error);
        trib_producer_leave(producer);
        return rc;
    }
};

} // namespace

TEST_CASE("every damaged byte of the geometry is noticed") {
    Copy copy;
    REQUIRE(copy.join() == 0);
    for (size_t at = 0; at < kGeometryBytes; at++) {
        copy.bytes[at] ^= 0x10;
        trib_error error{};
        INFO("byte " << at);
        CHECK(copy.join(&error) == -EPROTO);
        CHECK(std::strlen(error.text) > 0);
        copy.bytes[at] ^= 0x10;
    }
    CHECK(copy.join() == 0);
}

TEST_CASE("a session file has the size that its header says") {
    Copy copy;
    const off_t whole = copy.size;
    for (off_t size : {off_t{0}, off_t{10}, off_t{47}, off_t{48}, whole / 2, whole - 1, whole + 4096}) {
        copy.size = size;
        INFO(size);
        CHECK(copy.join() == -EPROTO);
    }
}

TEST_CASE("a session whose recorder closed takes nobody") {
    Copy copy;
    std::memset(copy.bytes.data() + 64, 0, 64); // the sign of life
    CHECK(copy.join() == -ENOTCONN);
}
