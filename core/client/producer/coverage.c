/* SPDX-License-Identifier: Apache-2.0 */
#include "producer/coverage.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/raw.h"

/* Of a file that claims more than any linker makes, the rest is not looked at. */
#define SEGMENTS_MAX 64u
#define NOTES_MAX    64u

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#else
#define MACHINE EM_NONE /* unknown: nobody is foreign */
#endif

/* The beginning of a file, where linkers put the headers and the notes: one read answers most questions. */
struct program {
    int fd;
    long read; /* bytes of head; negative: -errno */
    char head[2048];
};

/* False: not in the file. */
static bool read_at(const struct program *program, uint64_t offset, void *to, size_t bytes) {
    uint64_t known = program->read > 0 ? (uint64_t)program->read : 0;

    if (offset <= known && bytes <= known - offset) {
        memcpy(to, program->head + offset, bytes);
        return true;
    }
    return TRIB_RAW(SYS_pread64, program->fd, to, bytes, offset) == (long)bytes;
}

/* As the loader asks: does exec change who the process is? */
static bool is_privileged(int fd, const struct stat *status) {
    uid_t user = (uid_t)TRIB_RAW(SYS_geteuid);

    if (status->st_mode & S_ISUID && status->st_uid != user)
        return true;
    if (status->st_mode & S_ISGID && status->st_mode & S_IXGRP && status->st_gid != (gid_t)TRIB_RAW(SYS_getegid))
        return true;
    return user != 0 && TRIB_RAW(SYS_fgetxattr, fd, "security.capability", 0, 0) > 0;
}

static bool read_elf(const struct program *program, Elf64_Ehdr *out) {
    return read_at(program, 0, out, sizeof *out) && memcmp(out->e_ident, ELFMAG, SELFMAG) == 0;
}

/* Go's linker leaves its build-id in the first note of its segment. */
static bool is_go_note(const struct program *program, const Elf64_Phdr *notes) {
    static const char name[] = {'G', 'o', 0, 0};
    uint64_t at = notes->p_offset, end = at + notes->p_filesz;
    struct {
        Elf64_Nhdr head;
        char name[sizeof name];
    } note = {0};

    for (unsigned i = 0; i < NOTES_MAX && at < end && end - at >= sizeof note; i++) {
        if (!read_at(program, at, &note, sizeof note))
            return false;
        if (note.head.n_namesz == sizeof name && memcmp(note.name, name, sizeof name) == 0)
            return true;
        uint64_t name_bytes = ((uint64_t)note.head.n_namesz + 3) & ~3ull;
        at += sizeof note.head + name_bytes + (((uint64_t)note.head.n_descsz + 3) & ~3ull);
    }
    return false;
}

/* Run as a program, the loader loads another, and into that what LD_PRELOAD names. */
static bool is_loader(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0;
}

static enum trib_uncovered judge_elf(const struct program *program, const Elf64_Ehdr *elf, const char *path) {
    bool has_loader = false, is_go = false;
    Elf64_Phdr part = {0};

    if (elf->e_ident[EI_CLASS] != ELFCLASS64 || (MACHINE != EM_NONE && elf->e_machine != MACHINE))
        return TRIB_UNCOVERED_MACHINE;
    if (elf->e_phnum > SEGMENTS_MAX || (elf->e_phnum && elf->e_phentsize != sizeof part))
        return TRIB_COVERED; /* an odd file: nothing to say */
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        if (!read_at(program, elf->e_phoff + i * sizeof part, &part, sizeof part))
            return TRIB_COVERED;
        has_loader |= part.p_type == PT_INTERP;
        is_go |= part.p_type == PT_NOTE && is_go_note(program, &part);
    }
    if (is_go)
        return TRIB_UNCOVERED_GO;
    return has_loader || is_loader(path) ? TRIB_COVERED : TRIB_UNCOVERED_STATIC;
}

static enum trib_uncovered judge(int fd, const char *path) {
    struct program program; /* its 2 KiB need no zeros */
    struct stat status = {0};
    Elf64_Ehdr elf;

    if (TRIB_RAW(SYS_fstat, fd, &status) != 0 || !S_ISREG(status.st_mode))
        return TRIB_COVERED;
    program.fd = fd;
    program.read = TRIB_RAW(SYS_pread64, fd, program.head, sizeof program.head, 0);
    if (!read_elf(&program, &elf))
        return TRIB_COVERED; /* a script: neither is its setuid bit obeyed */
    return is_privileged(fd, &status) ? TRIB_UNCOVERED_SETUID : judge_elf(&program, &elf, path);
}

/* By raw calls: this runs in somebody's signal handlers, on small stacks, and is no cancellation point. */
enum trib_uncovered trib_program_uncovered(const char *path) {
    enum trib_uncovered why = TRIB_COVERED;
    long fd = TRIB_RAW(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd >= 0) {
        why = judge((int)fd, path);
        TRIB_RAW(SYS_close, fd);
    }
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
