/* SPDX-License-Identifier: Apache-2.0 */
#include "producer/coverage.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define HEAD_BYTES 4096u /* linkers put program headers and notes there */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#else
#define MACHINE EM_NONE /* unknown: nobody is foreign */
#endif

struct head {
    uint8_t data[HEAD_BYTES];
    size_t bytes;
};

/* As the loader asks: does exec change who the process is? */
static bool is_privileged(int fd, const struct stat *status) {
    if (status->st_mode & S_ISUID && status->st_uid != geteuid())
        return true;
    if (status->st_mode & S_ISGID && status->st_mode & S_IXGRP && status->st_gid != getegid())
        return true;
    return geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static bool is_elf(const struct head *head, Elf64_Ehdr *out) {
    if (head->bytes < sizeof *out)
        return false;
    memcpy(out, head->data, sizeof *out);
    return memcmp(out->e_ident, ELFMAG, SELFMAG) == 0;
}

/* False: not in the head of the file. */
static bool segment(const struct head *head, const Elf64_Ehdr *elf, unsigned index, Elf64_Phdr *out) {
    uint64_t at = elf->e_phoff + (uint64_t)index * sizeof *out;

    if (elf->e_phentsize != sizeof *out || elf->e_phoff > HEAD_BYTES || at + sizeof *out > head->bytes)
        return false;
    memcpy(out, head->data + at, sizeof *out);
    return true;
}

/* Go's linker leaves its build-id in the first note of its segment. */
static bool is_go_note(const struct head *head, const Elf64_Phdr *notes) {
    static const char name[] = {'G', 'o', 0, 0};
    uint64_t at = notes->p_offset, end = at + notes->p_filesz;

    if (at > head->bytes || end < at)
        return false;
    end = end < head->bytes ? end : head->bytes;
    while (end - at >= sizeof(Elf64_Nhdr) + sizeof name) {
        Elf64_Nhdr note;
        memcpy(&note, head->data + at, sizeof note);
        if (note.n_namesz == sizeof name && memcmp(head->data + at + sizeof note, name, sizeof name) == 0)
            return true;
        uint64_t name_bytes = ((uint64_t)note.n_namesz + 3) & ~3ull, rest_bytes = ((uint64_t)note.n_descsz + 3) & ~3ull;
        uint64_t bytes = sizeof note + name_bytes + rest_bytes;
        if (bytes > end - at)
            return false;
        at += bytes;
    }
    return false;
}

/* Run as a program, the loader loads another, and into that what LD_PRELOAD names. */
static bool is_loader(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0;
}

static enum trib_uncovered judge_elf(const struct head *head, const Elf64_Ehdr *elf, const char *path) {
    bool has_loader = false, is_go = false;
    Elf64_Phdr part;

    if (elf->e_ident[EI_CLASS] != ELFCLASS64 || (MACHINE != EM_NONE && elf->e_machine != MACHINE))
        return TRIB_UNCOVERED_MACHINE;
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        if (!segment(head, elf, i, &part))
            return TRIB_COVERED; /* an odd file: nothing to say */
        has_loader |= part.p_type == PT_INTERP;
        is_go |= part.p_type == PT_NOTE && is_go_note(head, &part);
    }
    if (is_go)
        return TRIB_UNCOVERED_GO;
    return has_loader || is_loader(path) ? TRIB_COVERED : TRIB_UNCOVERED_STATIC;
}

static enum trib_uncovered judge(int fd, const char *path) {
    struct head head;
    struct stat status;
    Elf64_Ehdr elf;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return TRIB_COVERED;
    ssize_t got = pread(fd, head.data, sizeof head.data, 0);
    head.bytes = got > 0 ? (size_t)got : 0;
    if (!is_elf(&head, &elf))
        return TRIB_COVERED; /* a script: neither is its setuid bit obeyed */
    return is_privileged(fd, &status) ? TRIB_UNCOVERED_SETUID : judge_elf(&head, &elf, path);
}

enum trib_uncovered trib_program_uncovered(const char *path) {
    int kept = errno, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    enum trib_uncovered why = TRIB_COVERED;

    if (fd >= 0) {
        why = judge(fd, path);
        close(fd);
    }
    errno = kept;
    return why;
}

bool trib_uncovered_add(char *list, size_t capacity, const char *path, enum trib_uncovered why) {
    char entry[1152];
    size_t used = strlen(list);
    int length = snprintf(entry, sizeof entry, "%s (%s)", path, trib_uncovered_name(why));

    if (strstr(list, entry) || used + (size_t)length + 3 > capacity || (size_t)length >= sizeof entry)
        return false;
    snprintf(list + used, capacity - used, "%s%s", used ? ", " : "", entry);
    return true;
}
