// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <tributary/signature.h>

#include "support/catch.hpp"
#include "symbol/elf_symbols.h"

namespace {

// A library of the system: stripped, so names come from .dynsym; small enough to copy often.
const char *const kLibrary = "/lib/x86_64-linux-gnu/libdl.so.2";

std::vector<char> read_file(const char *path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct TemporaryFile {
    std::string path = std::filesystem::temp_directory_path() / "signature_symbols_XXXXXX";
    explicit TemporaryFile(const std::vector<char> &bytes) {
        const int fd = mkstemp(path.data());
        REQUIRE(fd >= 0);
        REQUIRE(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
        close(fd);
    }
    ~TemporaryFile() {
        unlink(path.c_str());
    }
};

// Whatever the bytes are: an error or an answer, within the file. (Sanitizers watch.)
void explore(const std::vector<char> &bytes) {
    const TemporaryFile file(bytes);
    struct trib_elf elf;
    const int code = trib_elf_open(&elf, file.path.c_str());
    REQUIRE((code == 0 || code == -ENOEXEC));
    if (code)
        return;
    uint8_t build_id[20];
    CHECK(trib_elf_build_id(&elf, build_id, sizeof build_id) <= sizeof build_id);
    for (uint64_t address = 0; address < 0x8000; address += 509) {
        const char *name = nullptr;
        uint64_t start = 0;
        if (trib_elf_function(&elf, address, &name, &start) == 0) {
            CHECK(start <= address);
            CHECK(name + strlen(name) < reinterpret_cast<const char *>(elf.bytes) + elf.size_bytes);
        }
    }
    trib_elf_close(&elf);
}

} // namespace

TEST_CASE("functions of this program") {
    struct trib_elf elf;
    uint8_t build_id[20];
    REQUIRE(trib_elf_open(&elf, "/proc/self/exe") == 0);
    CHECK(trib_elf_build_id(&elf, build_id, sizeof build_id) > 0);
    CHECK(trib_elf_build_id(&elf, build_id, 4) == 4);
    const char *name;
    uint64_t start;
    CHECK(trib_elf_function(&elf, 0, &name, &start) == -ENOENT);
    trib_elf_close(&elf);
}

TEST_CASE("the entry of a program has its name, stripped or not") {
    for (const char *path : {"/proc/self/exe", "/bin/ls"}) {
        struct trib_elf elf;
        struct trib_module module = {};
        char text[128];
        REQUIRE(trib_elf_open(&elf, path) == 0);
        const uint64_t entry = trib_elf_entry(&elf);
        module.build_id_bytes = static_cast<uint8_t>(trib_elf_build_id(&elf, module.build_id, sizeof module.build_id));
        strcpy(module.path, path);
        trib_elf_close(&elf);
        REQUIRE(entry != 0);
        trib_signature_symbolise(&module, entry + 0x21, text, sizeof text);
        CHECK(std::string(text).find("!_start+0x21") != std::string::npos);
        module.build_id[0] ^= 1;
        trib_signature_symbolise(&module, entry + 0x21, text, sizeof text);
        CHECK(std::string(text).find("_start") == std::string::npos);
    }
}

TEST_CASE("files that are not ELF are refused") {
    struct trib_elf elf;
    CHECK(trib_elf_open(&elf, "/nonexistent") == -ENOENT);
    CHECK(trib_elf_open(&elf, "/proc") == -ENOEXEC);
    CHECK(trib_elf_open(&elf, "/dev/null") == -ENOEXEC);
    explore({});
    explore(std::vector<char>(4096, 0x7f));
}

TEST_CASE("cut and damaged ELF files give errors or answers, never a crash") {
    const std::vector<char> good = read_file(access(kLibrary, R_OK) ? "/proc/self/exe" : kLibrary);
    REQUIRE(good.size() > 1000);
    std::mt19937_64 random(11);
    Elf64_Ehdr header;
    memcpy(&header, good.data(), sizeof header);
    for (int round = 0; round < 200; round++) {
        std::vector<char> bad = good;
        if (round % 4 == 0)
            bad.resize(random() % good.size());
        for (unsigned damages = round % 8; damages > 0 && !bad.empty(); damages--) {
            size_t at = random() % bad.size(); // or in the headers, where it hurts
            if (damages % 3 == 1)
                at = random() % std::min(sizeof header, bad.size());
            if (damages % 3 == 2)
                at =
                    std::min<size_t>(header.e_shoff + random() % (header.e_shnum * sizeof(Elf64_Shdr)), bad.size() - 1);
            bad[at] = static_cast<char>(random());
        }
        explore(bad);
    }
}
