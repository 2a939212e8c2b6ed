// SPDX-License-Identifier: Apache-2.0
// State files: what is kept, what is refused, and that nothing refused is ever changed.
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/hash.h"
#include "support/catch.hpp"
#include "support/skip.hpp"
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
    for (size_t length : {size_t(0), size_t(1), size_t(7), size_t(8), size_t(95), size_t(96), size_t(4095),
                          size_t(4096), whole.size() / 2, whole.size() - 4096, whole.size() - 1}) {
        write_all(path, whole.substr(0, length));
        require_refused(path, -EBADMSG, "offset " + std::to_string(length) + ": the file ends");
    }
    write_all(path, whole + "x");
    require_refused(path, -EBADMSG, "offset " + std::to_string(whole.size() + 1));
}

TEST_CASE("future versions and other byte orders are refused by name") {
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
}

TEST_CASE("a sealed header with impossible sizes is refused") {
    Folder folder;
    std::string path = folder / "state", whole = valid_file(path);
    for (size_t field : {20, 32, 36, 40, 44, 48, 56, 64, 72, 80}) {
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
        opened++; // the place of the lock, the clock and counters: no value of theirs is wrong by itself
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
    REQUIRE(refused > 3850);
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
    for (Damage d : {Damage{40, 0x7FF8000000000000, "not a number"}, Damage{40, 0xBFF0000000000000, "not a number"},
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

TEST_CASE("what a lock of older writers left in the file does not matter") {
    Folder folder;
    std::string path = folder / "state", bytes = valid_file(path);
    for (size_t i = 0; i < 64; i++)
        bytes[kLockOffset + i] = '\xFF';
    put<uint32_t>(bytes, 288, 1); // a change was under way
    write_all(path, bytes);
    trib_state *state = nullptr;
    REQUIRE(state_file::open(&state, path) == 0);
    trib_state_lock(state);
    REQUIRE(trib_state_find(state, 3) != 0);
    trib_state_unlock(state);
    trib_state_close(state);
}

TEST_CASE("a second user of a file is refused, in this process or another, until the first has closed it") {
    Folder folder;
    trib_state *first = nullptr, *second = nullptr;
    trib_error error = {};
    REQUIRE(state_file::open(&first, folder / "state") == 0);
    REQUIRE(state_file::open(&second, folder / "state", &error) == -EBUSY);
    REQUIRE(std::string(error.text).find("another process uses it") != std::string::npos);
    pid_t child = fork();
    if (child == 0)
        _exit(state_file::open(&second, folder / "state") == -EBUSY ? 0 : 1);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    REQUIRE(second == nullptr);

    int gate[2]; // a forked child that lives on keeps nothing locked
    REQUIRE(pipe(gate) == 0);
    child = fork();
    if (child == 0) {
        char byte;
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    trib_state_close(first);
    int rc = state_file::open(&second, folder / "state");
    close(gate[1]);
    close(gate[0]);
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(rc == 0);
    trib_state_close(second);
}

TEST_CASE("a file that others may write, or a link to one, is refused") {
    Folder folder;
    std::string path = folder / "state", link = folder / "link";
    const mode_t before = umask(0);
    valid_file(path);
    umask(before);
    struct stat status;
    REQUIRE(stat(path.c_str(), &status) == 0);
    REQUIRE((status.st_mode & 07777) == 0600);
    for (mode_t mode : {0620, 0602}) {
        REQUIRE(chmod(path.c_str(), mode) == 0);
        require_refused(path, -EPERM, "chmod it to 600");
    }
    REQUIRE(chmod(path.c_str(), 0640) == 0);
    REQUIRE(symlink(path.c_str(), link.c_str()) == 0);
    trib_state *state = nullptr;
    trib_error error = {};
    REQUIRE(state_file::open(&state, link, &error) == -ELOOP);
    REQUIRE(std::string(error.text).find("symbolic link") != std::string::npos);
    REQUIRE(state_file::open(&state, path) == 0);
    trib_state_close(state);
}

TEST_CASE("a state file of another user is refused") {
    if (!trib_test::is_root_or_skips("files cannot be given away"))
        return;
    Folder folder;
    const std::string path = folder / "state";
    valid_file(path);
    REQUIRE(chown(path.c_str(), 1, 1) == 0);
    require_refused(path, -EPERM, "must belong to this user");
}

TEST_CASE("of two rows with one key the first is kept") {
    Folder folder;
    std::string path = folder / "state", bytes = valid_file(path);
    put<uint64_t>(bytes, kRowsOffset + 3 * 128, 2); // row 3 says that it is key 2, which row 1 is
    write_all(path, bytes);
    trib_state *state = nullptr;
    REQUIRE(state_file::open(&state, path) == 0);
    REQUIRE(trib_state_attribute_count(state) == 4);
    REQUIRE(trib_state_attribute(state, trib_state_find(state, 2))->stream == 2);
    trib_attribute_ref ref;
    unsigned rows = 0, of_key = 0;
    for (uint32_t next = 0; (next = trib_state_next(state, next, &ref)); rows++)
        of_key += trib_state_attribute(state, ref)->key == 2;
    REQUIRE(rows == 4);
    REQUIRE(of_key == 1);
    trib_state_close(state);
}

TEST_CASE("rows never written to leave in the order they came, over a restart as well") {
    Folder folder;
    std::string path = folder / "state";
    trib_state *state = nullptr;
    trib_context who = {};
    auto intern = [&](uint64_t key) { REQUIRE(trib_state_intern(state, key, &who) != 0); };
    REQUIRE(state_file::open(&state, path, nullptr, 4) == 0);
    intern(1);
    intern(2);
    trib_state_close(state);
    REQUIRE(state_file::open(&state, path, nullptr, 4) == 0);
    for (uint64_t key = 3; key <= 6; key++)
        intern(key);
    for (uint64_t key = 1; key <= 6; key++)
        REQUIRE((trib_state_find(state, key) != 0) == (key > 2));
    trib_state_close(state);
}
