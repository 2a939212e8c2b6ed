// SPDX-License-Identifier: Apache-2.0
// Programs as files, byte by byte: no compiler, no libc.
#pragma once

#include <elf.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace trib_test {

struct Elf {
    Elf64_Ehdr head = {};
    std::vector<Elf64_Phdr> parts;
    std::string rest; // behind the program headers

    Elf() {
        std::memcpy(head.e_ident, ELFMAG, SELFMAG);
        head.e_ident[EI_CLASS] = ELFCLASS64;
        head.e_ident[EI_DATA] = ELFDATA2LSB;
        head.e_ident[EI_VERSION] = EV_CURRENT;
        head.e_type = ET_EXEC;
        head.e_machine = EM_X86_64;
        head.e_version = EV_CURRENT;
        head.e_ehsize = head.e_phoff = sizeof head;
        head.e_phentsize = sizeof(Elf64_Phdr);
    }
    uint64_t rest_at(size_t part_count) const {
        return sizeof head + part_count * sizeof(Elf64_Phdr);
    }
    std::string write(const std::string &path) {
        head.e_phnum = static_cast<uint16_t>(parts.size());
        std::ofstream out(path, std::ios::binary);
        out.write(reinterpret_cast<const char *>(&head), sizeof head);
        out.write(reinterpret_cast<const char *>(parts.data()), static_cast<long>(parts.size() * sizeof parts[0]));
        out << rest;
        out.close();
        chmod(path.c_str(), 0755);
        return path;
    }
};

// Ends with status 0, by a system call of its own. x86-64.
inline Elf static_program() {
    constexpr uint64_t address = 0x400000;
    Elf elf;
    elf.rest = std::string("\xb8\x3c\0\0\0\x31\xff\x0f\x05", 9); // mov $60, %eax; xor %edi, %edi; syscall
    const uint64_t bytes = elf.rest_at(1) + elf.rest.size();
    elf.parts.push_back({PT_LOAD, PF_R | PF_X, 0, address, address, bytes, bytes, 0x1000});
    elf.head.e_entry = address + elf.rest_at(1);
    return elf;
}

} // namespace trib_test
