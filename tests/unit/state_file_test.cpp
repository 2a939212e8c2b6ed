// SPDX-License-Identifier: Apache-2.0
// State files: what is kept, what is refused, and that nothing refused is ever changed.
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/hash.h"
#include "support/catch.hpp"
#include "support/state_file.hpp"

using namespace state_file;

namespace {

// Refused with this code and a sentence that has an offset, and left as it was, bytes and times.
void require_refused(const std::string &path, int code, const std::string &expected_text) {
    std::string before = read_all(path);
    struct stat status_before, status_after;
    REQUIRE(stat(path.c_str(), &status_before) == 0);
    trib_state *state = nullptr;
    trib_error error = {};
    int rc = state_file::open(&state, path, &error);
    CAPTURE(error.text);
    REQUIRE(rc == code);
    REQUIRE(state == nullptr);
    REQUIRE(std::string(error.text).find(expected_text) != std::string::npos);
    REQUIRE(std::string(error.text).find(path) != std::string::npos);
    REQUIRE(stat(path.c_str(), &status_after) == 0);
    REQUIRE(status_before.st_mtim.tv_sec == status_after.st_mtim.tv_sec);
    REQUIRE(status_before.st_mtim.tv_nsec == status_after.st_mtim.tv_nsec);
    REQUIRE(read_all(path) == before);
}

// A closed file with a clock, rows and nothing else.
std::string valid_file(const std::string &path) {
    trib_state *state = nullptr;
    REQUIRE(state_file::open(&state, path) == 0);
    trib_state_clock_advance(state, 123456);
    trib_context who = {};
    for (uint64_t key = 1; key <= 5; key++) {
        trib_attribute *row = trib_state_attribute(state, trib_state_intern(state, key, &who));
        row->lifetime_mean = 1000.0 * (double)key;
        row->stream = (uint16_t)key;
    }
    REQUIRE(trib_state_close(state) == 0);
    return read_all(path);
}

// The header checksum after a change of the geometry, so that the checks behind it are reached.
void seal(std::string &bytes) {
    uint64_t checksum = trib_hash(bytes.data(), kChecksumOffset);
    memcpy(&bytes[kChecksumOffset], &checksum, sizeof checksum);
}

template <class T> void put(std::string &bytes, size_t offset, T value) {
    memcpy(&bytes[offset], &value, sizeof value);
}

} // namespace

TEST_CASE("clock, rows and streams survive the process that learned them") {
    Folder folder;
    std::string path = folder / "state";
    valid_file(path);

    trib_state *state = nullptr;
    REQUIRE(state_file::open(&state, path) == 0);
    REQUIRE(trib_state_clock(state) == 123456);
    REQUIRE(trib_state_clock_advance(state, 4096) == 123456);
    REQUIRE(trib_state_attribute_count(state) == 5);
    for (uint64_t key = 1; key <= 5; key++) {
        const trib_attribute *row = trib_state_attribute(state, trib_state_find(state, key));
        REQUIRE(row);
        REQUIRE(row->key == key);
        REQUIRE(row->lifetime_mean == 1000.0 * (double)key);
        REQUIRE(row->stream == key);
    }
    REQUIRE(trib_state_close(state) == 0);
    REQUIRE(folder.files() == 1);
}

TEST_CASE("an existing file keeps its own capacities") {
    Folder folder;
    trib_state *state = nullptr;
    REQUIRE(state_file::open(&state, folder / "state", nullptr, 16, 64) == 0);
    trib_state_close(state);
    REQUIRE(state_file::open(&state, folder / "state", nullptr, 1000, 1000) == 0);
    trib_state_arena arena;
    trib_state_run_arena(state, &arena);
    REQUIRE(trib_state_attribute_capacity(state) == 16);
    REQUIRE(arena.capacity == 64);
    trib_state_close(state);
}

TEST_CASE("a new file has all its blocks") {
    Folder folder;
    trib_state *state = nullptr;
    REQUIRE(state_file::open(&state, folder / "state", nullptr, 1024, 1 << 16) == 0);
    struct stat status;
    REQUIRE(stat((folder / "state").c_str(), &status) == 0);
    REQUIRE(status.st_size >= (1 << 16) * 32);
    REQUIRE((uint64_t)status.st_blocks * 512 >= (uint64_t)status.st_size);
    REQUIRE((status.st_mode & 0777) == 0600);
    trib_state_close(state);
}

TEST_CASE("no room for the file is said at open, and nothing is left behind") {
    Folder folder;
    struct rlimit old, small = {1 << 20, 1 << 20};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    auto handler = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    trib_state *state = nullptr;
    trib_error error = {};
    int rc = state_file::open(&state, folder / "state", &error, 16, 1 << 20);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    REQUIRE(rc == -EFBIG);
    REQUIRE(std::string(error.text).find("cannot create") != std::string::npos);
    REQUIRE(folder.files() == 0);
}

TEST_CASE("a folder that does not exist is an error of the path") {
    Folder folder;
    trib_state *state = nullptr;
    trib_error error = {};
    REQUIRE(state_file::open(&state, folder / "none/state", &error) == -ENOENT);
    REQUIRE(std::string(error.text).find("none/state") != std::string::npos);
}

TEST_CASE("folders and pipes are no state files") {
    Folder folder;
    trib_state *state = nullptr;
    REQUIRE(mkdir((folder / "d").c_str(), 0700) == 0);
    REQUIRE(state_file::open(&state, folder / "d") == -EISDIR);
    REQUIRE(mkfifo((folder / "p").c_str(), 0600) == 0);
    REQUIRE(state_file::open(&state, folder / "p") == -EINVAL);
}

TEST_CASE("foreign files are refused") {
    Folder folder;
    write_all(folder / "text", "dear diary, nobody reads this\n" + std::string(5000, 'x'));
    require_refused(folder / "text", -EPROTO, "offset 0: not a Tributary state file");
    write_all(folder / "short", "hello");
    require_refused(folder / "short", -EPROTO, "offset 0: not a Tributary state file");
    write_all(folder / "zeros", std::string(8192, '\0'));
    require_refused(folder / "zeros", -EPROTO, "offset 0: not a Tributary state file");
}

TEST_CASE("truncated and extended files are refused at every length") {
    Folder folder;
    std::string path = folder / "state", whole = valid_file(path);
    for (size_t length :
         {size_t(0), size_t(1), size_t(7), size_t(8), size_t(95), size_t(96), size_t(4095),
          size_t(4096), whole.size() / 2, whole.size() - 4096, whole.size() - 1}) {
        write_all(path, whole.substr(0, length));
        require_refused(path, -EBADMSG, "offset " + std::to_string(length) + ": the file ends");
    }
    write_all(path, whole + "x");
    require_refused(path, -EBADMSG, "offset " + std::to_string(whole.size() + 1));
}

TEST_CASE("future versions, other byte orders and other ABIs are refused by name") {
    Folder folder;
    std::string path = folder / "state", whole = valid_file(path), bytes = whole;
    put<uint32_t>(bytes, kVersionOffset, 2);
    seal(bytes);
    write_all(path, bytes);
    require_refused(path, -EPROTO, "offset 8: format version 2, this program reads 1");

    bytes = whole;
    put<uint32_t>(bytes, kByteOrderOffset, 0x04030201);
    write_all(path, bytes);
    require_refused(path, -EPROTO, "offset 16: written by a machine of another byte order");

    bytes = whole;
    put<uint32_t>(bytes, 20, 24);
    seal(bytes);
    write_all(path, bytes);
    require_refused(path, -EPROTO, "offset 20: written by programs of another ABI");
}

TEST_CASE("a sealed header with impossible sizes is refused") {
    Folder folder;
    std::string path = folder / "state", whole = valid_file(path);
    for (size_t field : {32, 36, 40, 44, 48, 56, 64, 72, 80}) {
        for (uint32_t value : {0u, 1u, 17u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
            std::string bytes = whole;
            put<uint32_t>(bytes, field, value);
            if (bytes == whole)
                continue;
            seal(bytes);
            write_all(path, bytes);
            CAPTURE(field, value);
            require_refused(path, -EBADMSG, "offset ");
        }
    }
}

TEST_CASE("any changed byte of the header is refused or harmless") {
    Folder folder;
    std::string path = folder / "state", whole = valid_file(path);
    size_t refused = 0, opened = 0;
    for (size_t offset = 0; offset < 4096; offset++) {
        std::string bytes = whole;
        bytes[offset] = (char)(bytes[offset] ^ 0x5A);
        write_all(path, bytes);
        trib_state *state = nullptr;
        if (state_file::open(&state, path) != 0) {
            refused++;
            REQUIRE(read_all(path) == bytes);
            continue;
        }
        opened++; // the lock, the clock and counters: no value of theirs is wrong by itself
        REQUIRE(offset >= kLockOffset);
        trib_state_lock(state);
        for (uint64_t key = 1; key <= 5; key++)
            REQUIRE(trib_state_find(state, key) != 0);
        trib_context who = {};
        for (uint64_t key = 100; key < 120; key++)
            REQUIRE(trib_state_intern(state, key, &who) != 0);
        trib_state_unlock(state);
        REQUIRE(trib_state_close(state) == 0);
    }
    REQUIRE(refused > 3900);
    REQUIRE(opened > 0);
}

TEST_CASE("damaged rows are refused at their offset") {
    Folder folder;
    std::string path = folder / "state", whole = valid_file(path);
    const size_t row = kRowsOffset + 2 * 128;
    struct Damage {
        size_t field;
        uint64_t value;
        const char *reason;
    };
    for (Damage d : {Damage{40, 0x7FF8000000000000, "not a number"},
                     Damage{40, 0xBFF0000000000000, "not a number"},
                     Damage{48, 0x7FF0000000000000, "not a number"}, Damage{120, 1, "reserved"},
                     Damage{24, 0x00000000FFFFFFFF, "generation"}, Damage{24, 0, "generation"}}) {
        std::string bytes = whole;
        put<uint64_t>(bytes, row + d.field, d.value);
        write_all(path, bytes);
        require_refused(path, -EBADMSG, "offset " + std::to_string(row));
        require_refused(path, -EBADMSG, d.reason);
    }
    std::string bytes = whole;
    put<uint32_t>(bytes, kRowsUsedOffset, 17);
    write_all(path, bytes);
    require_refused(path, -EBADMSG, "offset 280: 17 rows in a table of 16");
}

TEST_CASE("chains and eviction order in the file are not trusted") {
    Folder folder;
    std::string path = folder / "state", bytes = valid_file(path);
    for (size_t i = kRowsOffset + 16 * 128; i < bytes.size(); i++)
        bytes[i] = '\xA7'; // buckets, heap and runs
    for (size_t i = 0; i < 5; i++)
        put<uint32_t>(bytes, kRowsOffset + i * 128 + 36,
                      1); // every row's chain goes back to the first
    write_all(path, bytes);
    trib_state *state = nullptr;
    REQUIRE(state_file::open(&state, path) == 0);
    trib_context who = {};
    for (uint64_t key = 1; key <= 40; key++)
        REQUIRE(trib_state_intern(state, key, &who) != 0);
    REQUIRE(trib_state_find(state, 999) == 0);
    REQUIRE(trib_state_evictions(state) == 24);
    trib_state_close(state);
}

TEST_CASE("a file whose lock was held when power failed opens") {
    Folder folder;
    std::string path = folder / "state";
    trib_state *state = nullptr;
    REQUIRE(state_file::open(&state, path) == 0);
    trib_state_lock(state);
    std::string held = read_all(path);
    trib_state_unlock(state);
    trib_state_close(state);
    write_all(folder / "copy", held);
    REQUIRE(state_file::open(&state, folder / "copy") == 0);
    trib_state_lock(state);
    trib_state_unlock(state);
    trib_state_close(state);
}

TEST_CASE("two handles of one file are one state") {
    Folder folder;
    trib_state *a = nullptr, *b = nullptr;
    REQUIRE(state_file::open(&a, folder / "state") == 0);
    REQUIRE(state_file::open(&b, folder / "state") == 0);
    trib_context who = {};
    trib_attribute_ref ref = trib_state_intern(a, 7, &who);
    REQUIRE(trib_state_find(b, 7) == ref);
    trib_state_clock_advance(b, 10);
    REQUIRE(trib_state_clock(a) == 10);
    trib_state_close(a);
    REQUIRE(trib_state_find(b, 7) == ref);
    trib_state_close(b);
}

TEST_CASE("a file that another process keeps closed is busy") {
    Folder folder;
    std::string path = folder / "state";
    valid_file(path);
    int fd = ::open(path.c_str(), O_RDWR);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    REQUIRE(fcntl(fd, F_OFD_SETLK, &lock) == 0);
    trib_state *state = nullptr;
    REQUIRE(state_file::open(&state, path) == -EBUSY);
    close(fd);
    REQUIRE(state_file::open(&state, path) == 0);
    trib_state_close(state);
}
