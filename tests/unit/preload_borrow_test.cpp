// SPDX-License-Identifier: Apache-2.0
// A borrowed descriptor is nowhere in the program's table, and never takes a lock of the program's along.
#include "support/catch.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <tributary/event.h>

#include "base/raw.h"

#include "support/folder.hpp"

extern "C" {
#include "files/borrow.h"
}

namespace {

using trib_test::Folder;
constexpr size_t kBytes = 65536;

struct Mapped {
    Folder folder;
    std::string path = folder / "a";
    char *memory;
    uint64_t file;

    Mapped() {
        const int fd = open(path.c_str(), O_CREAT | O_RDWR, 0600);
        struct stat status;
        REQUIRE(ftruncate(fd, kBytes) == 0);
        REQUIRE(fstat(fd, &status) == 0);
        file = trib_file_identity(status.st_dev, status.st_ino);
        void *at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        REQUIRE(at != MAP_FAILED);
        memory = static_cast<char *>(at);
        close(fd);
    }
    ~Mapped() {
        munmap(memory, kBytes);
    }
    Mapped(const Mapped &) = delete;
    Mapped &operator=(const Mapped &) = delete;
    int borrow(trib_borrower *ask, void *arg = nullptr) const {
        const auto start = reinterpret_cast<uintptr_t>(memory);
        const struct trib_borrowed what = {start, start + kBytes, file};
        return trib_borrow(&what, ask, arg);
    }
    int lock() const { // the descriptor that holds it
        struct flock all = {};
        all.l_type = F_WRLCK;
        const int fd = open(path.c_str(), O_RDWR);
        REQUIRE(fcntl(fd, F_SETLK, &all) == 0);
        return fd;
    }
    bool others_may_lock() const {
        const pid_t child = fork();
        if (child == 0) {
            struct flock all = {};
            all.l_type = F_WRLCK;
            const int fd = open(path.c_str(), O_RDWR);
            _exit(fd >= 0 && fcntl(fd, F_GETLK, &all) == 0 && all.l_type == F_UNLCK ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        return status == 0;
    }
};

int lowest_free_descriptor() {
    const int fd = dup(0);
    close(fd);
    return fd;
}

} // namespace

TEST_CASE("who asks has a descriptor of the file, and the program has none more") {
    const Mapped mapped;
    struct Seen {
        int kept, before, meanwhile;
        bool is_file;
    } seen = {-1, lowest_free_descriptor(), -1, false};
    for (int i = 0; i < 100; i++) {
        const int code = mapped.borrow(
            [](int fd, void *arg) {
                Seen &into = *static_cast<Seen *>(arg);
                struct stat status;
                into.is_file = TRIB_RAW(SYS_fstat, fd, &status) == 0 && status.st_size == kBytes;
                into.kept = fd;
            },
            &seen);
        REQUIRE(code == 0);
        CHECK(seen.is_file);
        CHECK(lowest_free_descriptor() == seen.before);
    }
}

TEST_CASE("another thread never meets a borrowed descriptor") {
    const Mapped mapped;
    const int lowest = lowest_free_descriptor();
    std::atomic<bool> stop{false};
    std::atomic<unsigned> wrong{0}, looked{0};
    std::thread other([&] {
        while (!stop) {
            wrong += lowest_free_descriptor() != lowest;
            looked++;
        }
    });
    while (looked == 0)
        std::this_thread::yield();
    for (int i = 0; i < 300; i++)
        CHECK(mapped.borrow([](int, void *) {}) == 0);
    stop = true;
    other.join();
    CHECK(looked > 100);
    CHECK(wrong == 0);
}

TEST_CASE("the program's locks on the file stay, whenever they are taken") {
    const Mapped mapped;
    const int locker = mapped.lock();
    CHECK(mapped.borrow([](int, void *) {}) == 0);
    CHECK_FALSE(mapped.others_may_lock());
    close(locker);
    CHECK(mapped.others_may_lock());
}

TEST_CASE("nothing is borrowed where another file is by now") {
    const Mapped mapped;
    bool asked = false;
    const auto ask = [](int, void *arg) { *static_cast<bool *>(arg) = true; };
    REQUIRE(rename(mapped.path.c_str(), (mapped.folder / "b").c_str()) == 0);
    CHECK(mapped.borrow(ask, &asked) == 0); // the kernel follows a name
    CHECK(asked);
    asked = false;
    REQUIRE(unlink((mapped.folder / "b").c_str()) == 0);
    CHECK(mapped.borrow(ask, &asked) < 0);
    struct trib_borrowed other = {reinterpret_cast<uintptr_t>(mapped.memory),
                                  reinterpret_cast<uintptr_t>(mapped.memory) + kBytes, mapped.file + 1};
    CHECK(trib_borrow(&other, ask, &asked) < 0);
    CHECK_FALSE(asked);
}
