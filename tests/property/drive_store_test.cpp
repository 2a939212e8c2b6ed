// SPDX-License-Identifier: Apache-2.0
// The emulated drive as a block store: against a plain byte array, in memory and in a file, while
// the model below collects garbage.
#include "support/catch.hpp"
#include "support/events.hpp"

#include "drive/drive.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr uint64_t PAGE = TRIB_BLOCK_BYTES;

class TemporaryFile {
  public:
    TemporaryFile() {
        char name[] = "drive_store_XXXXXX";
        const int fd = mkstemp(name);
        REQUIRE(fd >= 0);
        close(fd);
        path = name;
    }
    ~TemporaryFile() {
        unlink(path.c_str());
    }
    std::string path;
};

struct Store {
    explicit Store(const std::string &data) {
        trib_options *options = nullptr;
        REQUIRE(trib_options_open(&options,
                                  ("preset=small,capacity=4M,superblock=64K,data=" + data).c_str(),
                                  &error) == 0);
        trib_drive_env env{};
        env.streams = 2;
        drive = trib_drive_find("emulated", &error);
        code = drive->open(&self, &env, options, &error);
        trib_options_close(options);
    }
    ~Store() {
        if (!code)
            REQUIRE(drive->close(self) == 0);
    }
    const trib_drive *drive;
    void *self = nullptr;
    trib_error error{};
    int code;
};

void compare(Store &store, const std::vector<uint8_t> &model) {
    std::vector<uint8_t> got(model.size(), 0xEE);
    REQUIRE(store.drive->read(store.self, 0, uint32_t(model.size() / PAGE), got.data()) == 0);
    REQUIRE(got == model);
}

void run(Store &store, std::vector<uint8_t> &model, uint64_t seed, int steps) {
    trib_test::Random random(seed);
    const uint64_t blocks = model.size() / PAGE;
    std::vector<uint8_t> buffer;
    for (int step = 0; step < steps; step++) {
        const uint64_t n = 1 + random.below(20), lba = random.below(blocks - n + 1);
        buffer.resize(n * PAGE);
        switch (random.below(4)) {
        case 0:
            REQUIRE(store.drive->discard(store.self, lba, n) == 0);
            memset(&model[lba * PAGE], 0, n * PAGE);
            break;
        case 1:
            REQUIRE(store.drive->read(store.self, lba, uint32_t(n), buffer.data()) == 0);
            REQUIRE(memcmp(buffer.data(), &model[lba * PAGE], n * PAGE) == 0);
            break;
        default:
            for (auto &byte : buffer)
                byte = uint8_t(random.next());
            REQUIRE(store.drive->write(store.self, lba, uint32_t(n), uint16_t(random.below(3)),
                                       buffer.data()) == 0);
            memcpy(&model[lba * PAGE], buffer.data(), n * PAGE);
        }
    }
}

} // namespace

TEST_CASE("what was written is read, zeros elsewhere") {
    TemporaryFile file;
    const std::string data = GENERATE_COPY(std::string("memory"), "file:" + file.path);
    CAPTURE(data);
    std::vector<uint8_t> model(4 << 20, 0);
    {
        Store store(data);
        INFO(store.error.text);
        REQUIRE(store.code == 0);
        compare(store, model);
        run(store, model, 1, 1500);
        compare(store, model);
        trib_drive_stats stats;
        store.drive->stats(store.self, &stats);
        REQUIRE(stats.gc_pages > 0); // the model did move pages meanwhile
        REQUIRE(store.drive->write(store.self, 1023, 2, 0, model.data()) == -EINVAL);
        compare(store, model);
    }
    if (data == "memory")
        return;
    Store again(data); // a file outlives the drive
    REQUIRE(again.code == 0);
    compare(again, model);
    run(again, model, 2, 200);
    compare(again, model);
}

TEST_CASE("without contents reads give zeros") {
    Store store("none");
    std::vector<uint8_t> ones(PAGE, 1), zeros(PAGE, 0), got(PAGE, 7);
    REQUIRE(store.drive->write(store.self, 0, 1, 0, ones.data()) == 0);
    REQUIRE(store.drive->read(store.self, 0, 1, got.data()) == 0);
    REQUIRE(got == zeros);
}

TEST_CASE("a file of another size is refused and not touched") {
    TemporaryFile file;
    std::ofstream(file.path) << "my letters";
    Store store("file:" + file.path);
    REQUIRE(store.code == -EEXIST);
    REQUIRE(std::string(store.error.text).find(file.path) != std::string::npos);
    std::string kept;
    std::getline(std::ifstream(file.path), kept);
    REQUIRE(kept == "my letters");
    REQUIRE(Store("file:/no/such/folder/file").code == -ENOENT);
    REQUIRE(Store("file:/dev/null").code == -EEXIST);
}

TEST_CASE("a full disk under the file is an error of the write, not of the data before") {
    TemporaryFile file;
    Store store("file:" + file.path);
    std::vector<uint8_t> ones(PAGE, 1), got(PAGE);
    REQUIRE(store.drive->write(store.self, 0, 1, 0, ones.data()) == 0);
    REQUIRE(truncate(file.path.c_str(), PAGE) == 0); // someone cut the file
    REQUIRE(store.drive->read(store.self, 0, 1, got.data()) == 0);
    REQUIRE(store.drive->read(store.self, 1, 1, got.data()) == -EIO);
}
