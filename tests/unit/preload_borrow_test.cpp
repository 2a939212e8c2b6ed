// SPDX-License-Identifier: Apache-2.0
// A borrowed descriptor goes back without a trace, and never takes a lock of the program's along.
#include "support/catch.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tributary/event.h>

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
    int borrow() const {
        const auto start = reinterpret_cast<uintptr_t>(memory);
        return trib_borrow_descriptor(start, start + kBytes, file);
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

bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

} // namespace

TEST_CASE("a descriptor is borrowed for no program to inherit, and closed again") {
    const Mapped mapped;
    for (int i = 0; i < 100; i++) {
        const int fd = mapped.borrow();
        REQUIRE(fd >= 0);
        CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
        trib_return_descriptor(fd);
        CHECK_FALSE(is_open(fd));
    }
}

TEST_CASE("nothing is borrowed of a file that is locked") {
    const Mapped mapped;
    const int locker = mapped.lock();
    CHECK(mapped.borrow() == -1);
    CHECK_FALSE(mapped.others_may_lock());
    close(locker);
    const int fd = mapped.borrow();
    CHECK(fd >= 0);
    trib_return_descriptor(fd);
}

TEST_CASE("a lock that was taken meanwhile keeps the descriptor open, and soon nothing is borrowed any more") {
    const Mapped mapped;
    std::vector<int> kept;
    for (int i = 0; i < 100; i++) {
        const int fd = mapped.borrow();
        if (fd < 0)
            break;
        const int locker = mapped.lock();
        trib_return_descriptor(fd);
        CHECK(is_open(fd));
        CHECK_FALSE(mapped.others_may_lock());
        kept.push_back(fd);
        close(locker); // of the same file: the lock goes with it
    }
    CHECK(kept.size() == 16);
    for (const int fd : kept)
        close(fd);
}
