// SPDX-License-Identifier: Apache-2.0
// Which programs tell nothing is known from the head of their files.
#include "support/catch.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <linux/capability.h>

#include <cerrno>

#include "producer/coverage.h"
#include "support/elf.hpp"
#include "support/folder.hpp"
#include "support/skip.hpp"

using namespace trib_test;

namespace {

struct Judged {
    Folder folder;

    trib_uncovered operator()(Elf elf, const std::string &name = "program") const {
        errno = EXDEV;
        const trib_uncovered why = trib_program_uncovered(elf.write(folder / name).c_str());
        CHECK(errno == EXDEV);
        return why;
    }
};

Elf dynamic_program() {
    Elf elf = static_program();
    elf.parts.push_back({PT_INTERP, PF_R, 0, 0, 0, 0, 0, 1});
    return elf;
}

// With notes of these names, "Go" among them or not.
Elf with_notes(Elf elf, const std::vector<std::string> &names) {
    std::string notes;
    for (const std::string &name : names) {
        const Elf64_Nhdr note = {static_cast<Elf64_Word>(name.size()), 5, 4};
        notes.append(reinterpret_cast<const char *>(&note), sizeof note);
        notes += name + std::string((4 - name.size() % 4) % 4, '\0') + std::string("hello\0\0\0", 8);
    }
    elf.parts.push_back({PT_NOTE, PF_R, elf.rest_at(elf.parts.size() + 1), 0, 0, notes.size(), notes.size(), 4});
    elf.rest = notes;
    return elf;
}

} // namespace

#ifdef __x86_64__

TEST_CASE("static, Go and foreign programs tell nothing") {
    const Judged judged;
    CHECK(judged(static_program()) == TRIB_UNCOVERED_STATIC);
    CHECK(judged(dynamic_program()) == TRIB_COVERED);
    CHECK(judged(static_program(), "ld-linux-x86-64.so.2") == TRIB_COVERED); // loads another
    const std::string gnu("GNU\0", 4), go("Go\0\0", 4);
    CHECK(judged(with_notes(dynamic_program(), {gnu})) == TRIB_COVERED);
    CHECK(judged(with_notes(dynamic_program(), {gnu, go})) == TRIB_UNCOVERED_GO);
    CHECK(judged(with_notes(static_program(), {go})) == TRIB_UNCOVERED_GO);
    const std::string long_name(3000, 'x'); // Go's note lies behind what is read at once
    CHECK(judged(with_notes(dynamic_program(), {long_name, go})) == TRIB_UNCOVERED_GO);
    CHECK(judged(with_notes(dynamic_program(), {long_name, gnu})) == TRIB_COVERED);
    Elf foreign = dynamic_program();
    foreign.head.e_machine = EM_AARCH64;
    CHECK(judged(foreign) == TRIB_UNCOVERED_MACHINE);
    foreign.head.e_machine = EM_386;
    foreign.head.e_ident[EI_CLASS] = ELFCLASS32;
    CHECK(judged(foreign) == TRIB_UNCOVERED_MACHINE);
    CHECK(trib_program_uncovered("/proc/self/exe") == TRIB_COVERED);
}

TEST_CASE("what is no program, or a damaged one, is judged without harm") {
    const Judged judged;
    CHECK(trib_program_uncovered((judged.folder / "absent").c_str()) == TRIB_COVERED);
    CHECK(trib_program_uncovered("/") == TRIB_COVERED);
    CHECK(trib_program_uncovered("/dev/null") == TRIB_COVERED);
    std::ofstream(judged.folder / "script") << "#!/bin/sh\n";
    CHECK(trib_program_uncovered((judged.folder / "script").c_str()) == TRIB_COVERED);
    Elf elf = with_notes(dynamic_program(), {std::string("Go\0\0", 4)});
    for (const uint64_t at : {uint64_t{1} << 20, UINT64_MAX, uint64_t{4000}}) {
        Elf damaged = elf;
        damaged.parts.back().p_offset = at;
        CHECK(judged(damaged) == TRIB_COVERED);
        damaged = elf;
        damaged.head.e_phoff = at;
        CHECK(judged(damaged) == TRIB_COVERED);
        damaged = elf;
        damaged.parts.back().p_filesz = at;
        CHECK(judged(damaged) == (at == UINT64_MAX ? TRIB_COVERED : TRIB_UNCOVERED_GO)); // it begins as it should
    }
    elf.rest.replace(0, 4, "\xff\xff\xff\xff"); // length of the note's name
    CHECK(judged(elf) == TRIB_COVERED);
    CHECK(truncate(elf.write(judged.folder / "cut").c_str(), 100) == 0);
    CHECK(trib_program_uncovered((judged.folder / "cut").c_str()) == TRIB_COVERED);
}

TEST_CASE("a program that was judged is not open any more") {
    const Judged judged;
    const auto lowest_free = [] {
        const int fd = dup(STDERR_FILENO);
        close(fd);
        return fd;
    };
    const int before = lowest_free();
    judged(static_program());
    judged(dynamic_program());
    judged(with_notes(dynamic_program(), {std::string("Go\0\0", 4)}));
    std::ofstream(judged.folder / "script") << "#!/bin/sh\n";
    for (const std::string &path : {judged.folder / "script", std::string("/"), std::string("/dev/null")})
        CHECK(trib_program_uncovered(path.c_str()) == TRIB_COVERED);
    CHECK(lowest_free() == before);
}

TEST_CASE("setuid of another user hides a program, of one's own does not") {
    if (!is_root_or_skips("files cannot be given away"))
        return;
    Folder folder;
    const std::string path = dynamic_program().write(folder / "program");
    REQUIRE(chmod(path.c_str(), 04755) == 0);
    CHECK(trib_program_uncovered(path.c_str()) == TRIB_COVERED);
    REQUIRE((chown(path.c_str(), 65534, 0) == 0 && chmod(path.c_str(), 04755) == 0));
    CHECK(trib_program_uncovered(path.c_str()) == TRIB_UNCOVERED_SETUID);
    REQUIRE((chown(path.c_str(), 0, 65534) == 0 && chmod(path.c_str(), 02755) == 0));
    CHECK(trib_program_uncovered(path.c_str()) == TRIB_UNCOVERED_SETUID);
}

#endif

TEST_CASE("the list of programs keeps the first, each once, and never grows") {
    char list[32] = "";
    CHECK(trib_uncovered_add(list, sizeof list, "/bin/a", TRIB_UNCOVERED_STATIC));
    CHECK_FALSE(trib_uncovered_add(list, sizeof list, "/bin/a", TRIB_UNCOVERED_STATIC));
    CHECK(trib_uncovered_add(list, sizeof list, "/b", TRIB_UNCOVERED_GO));
    CHECK_FALSE(trib_uncovered_add(list, sizeof list, "/bin/c", TRIB_UNCOVERED_GO));
    CHECK_FALSE(trib_uncovered_add(list, sizeof list, std::string(5000, 'x').c_str(), TRIB_UNCOVERED_GO));
    CHECK(std::string(list) == "/bin/a (static), /b (Go)");
}

TEST_CASE("a program with capabilities of its own ignores LD_PRELOAD, but not for root") {
    Judged judge;
    chmod((judge.folder / ".").c_str(), 0755);
    const std::string path = dynamic_program().write(judge.folder / "program");
    struct vfs_cap_data bind = {};
    bind.magic_etc = VFS_CAP_REVISION_2;
    bind.data[0].permitted = 1u << CAP_NET_BIND_SERVICE;
    chmod(path.c_str(), 0755);
    if (setxattr(path.c_str(), "security.capability", &bind, XATTR_CAPS_SZ_2, 0) != 0)
        return skip("capabilities cannot be given here");
    CHECK(trib_program_uncovered(path.c_str()) == TRIB_COVERED);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(setuid(65534) == 0 ? static_cast<int>(trib_program_uncovered(path.c_str())) : 99);
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(WEXITSTATUS(status) == TRIB_UNCOVERED_SETUID);
}
