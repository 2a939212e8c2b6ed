/* SPDX-License-Identifier: Apache-2.0 */
#include "elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_file(struct trib_elf *out, const char *path) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size < (off_t)sizeof(Elf64_Ehdr)) {
        close(fd);
        return -ENOEXEC;
    }
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    int code = bytes == MAP_FAILED ? -errno : 0;
    close(fd);
    if (code == 0)
        *out = (struct trib_elf){.bytes = bytes, .size_bytes = (size_t)status.st_size};
    return code;
}

int trib_elf_open(struct trib_elf *out, const char *path) {
    struct trib_elf elf;
    int code = map_file(&elf, path);
    if (code)
        return code;
    const unsigned char native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    if (memcmp(elf.bytes, ELFMAG, SELFMAG) != 0 || elf.bytes[EI_CLASS] != ELFCLASS64 || elf.bytes[EI_DATA] != native) {
        trib_elf_close(&elf);
        return -ENOEXEC;
    }
    *out = elf;
    return 0;
}

void trib_elf_close(struct trib_elf *elf) {
    munmap((void *)elf->bytes, elf->size_bytes);
    elf->bytes = NULL;
}

static bool holds(const struct trib_elf *elf, uint64_t offset, uint64_t bytes) {
    return offset <= elf->size_bytes && bytes <= elf->size_bytes - offset;
}

/* Copies section header `index`; false if it lies outside the file. */
static bool section(const struct trib_elf *elf, uint32_t index, Elf64_Shdr *out) {
    Elf64_Ehdr header;
    memcpy(&header, elf->bytes, sizeof header);
    if (header.e_shentsize != sizeof *out || index >= header.e_shnum ||
        !holds(elf, header.e_shoff, (uint64_t)header.e_shnum * sizeof *out))
        return false;
    memcpy(out, elf->bytes + header.e_shoff + (uint64_t)index * sizeof *out, sizeof *out);
    return out->sh_type == SHT_NOBITS || holds(elf, out->sh_offset, out->sh_size);
}

static bool find_section(const struct trib_elf *elf, uint32_t type, Elf64_Shdr *out) {
    for (uint32_t i = 0; section(elf, i, out); i++)
        if (out->sh_type == type)
            return true;
    return false;
}

static size_t note_build_id(const uint8_t *note, size_t bytes, uint8_t *out, size_t capacity) {
    Elf64_Nhdr header;
    while (bytes >= sizeof header) {
        memcpy(&header, note, sizeof header);
        uint64_t data = sizeof header + (((uint64_t)header.n_namesz + 3) & ~3ull);
        uint64_t next = data + (((uint64_t)header.n_descsz + 3) & ~3ull);
        if (next > bytes)
            return 0;
        if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && !memcmp(note + sizeof header, "GNU", 4)) {
            size_t size = header.n_descsz < capacity ? header.n_descsz : capacity;
            memcpy(out, note + data, size);
            return size;
        }
        note += next;
        bytes -= next;
    }
    return 0;
}

size_t trib_elf_build_id(const struct trib_elf *elf, uint8_t *out, size_t capacity) {
    Elf64_Shdr header;
    for (uint32_t i = 0; section(elf, i, &header); i++) {
        size_t size = 0;
        if (header.sh_type == SHT_NOTE)
            size = note_build_id(elf->bytes + header.sh_offset, header.sh_size, out, capacity);
        if (size)
            return size;
    }
    return 0;
}

/* Among aliases the last with the greatest start wins; a symbol without size reaches to the next
 * one. */
static bool search(const struct trib_elf *elf, const Elf64_Shdr *table, uint64_t address, Elf64_Sym *best) {
    bool found = false;
    for (uint64_t at = 0; table->sh_size - at >= sizeof *best; at += sizeof *best) {
        Elf64_Sym symbol;
        memcpy(&symbol, elf->bytes + table->sh_offset + at, sizeof symbol);
        unsigned type = ELF64_ST_TYPE(symbol.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF || symbol.st_value > address ||
            (symbol.st_size && address - symbol.st_value >= symbol.st_size) ||
            (found && symbol.st_value < best->st_value))
            continue;
        *best = symbol;
        found = true;
    }
    return found;
}

int trib_elf_function(const struct trib_elf *elf, uint64_t address, const char **name, uint64_t *start) {
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (unsigned i = 0; i < 2; i++) {
        Elf64_Shdr table, strings;
        Elf64_Sym symbol = {0};
        if (!find_section(elf, types[i], &table) || !section(elf, table.sh_link, &strings) ||
            strings.sh_type != SHT_STRTAB || !search(elf, &table, address, &symbol))
            continue;
        const char *text = (const char *)elf->bytes + strings.sh_offset;
        if (symbol.st_name >= strings.sh_size || !memchr(text + symbol.st_name, 0, strings.sh_size - symbol.st_name))
            continue;
        *name = text + symbol.st_name;
        *start = symbol.st_value;
        return 0;
    }
    return -ENOENT;
}

uint64_t trib_elf_entry(const struct trib_elf *elf) {
    Elf64_Ehdr header;

    memcpy(&header, elf->bytes, sizeof header); /* trib_elf_open has seen that it is there */
    return header.e_entry;
}
