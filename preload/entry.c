/* SPDX-License-Identifier: Apache-2.0 */
#include "entry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "next.h"

static _Atomic(bool) patched, sees_moves;

bool trib_entry_is_patched(void) {
    return atomic_load_explicit(&patched, memory_order_relaxed);
}

bool trib_entry_sees_moves(void) {
    return atomic_load_explicit(&sees_moves, memory_order_relaxed);
}

#ifdef __x86_64__

#define PAGE_BYTES 4096u
#define JUMP_BYTES 5u /* e9 and a 32-bit distance */

/* Room for the moved instructions and the jumps back, near enough to libc for 32-bit distances because the loader put
 * both there; filled in by trib_entry_patch. write's comes first, then lseek's. */
__asm__(".pushsection .text\n"
        ".balign 4096\n"
        ".globl trib_entry_room\n"
        ".hidden trib_entry_room\n"
        ".globl trib_entry_second_room\n"
        ".hidden trib_entry_second_room\n"
        ".type trib_entry_room, @function\n"
        ".type trib_entry_second_room, @function\n"
        "trib_entry_room:\n"
        ".fill 64, 1, 0xcc\n"
        ".size trib_entry_room, 64\n"
        "trib_entry_second_room:\n"
        ".fill 4032, 1, 0xcc\n"
        ".size trib_entry_second_room, 4032\n"
        ".popsection\n");
extern ssize_t trib_entry_room(int fd, const void *buffer, size_t length) __attribute__((visibility("hidden")));
extern off_t trib_entry_second_room(int fd, off_t offset, int whence) __attribute__((visibility("hidden")));

ssize_t trib_entry_write(int fd, const void *buffer, size_t length) {
    return trib_entry_room(fd, buffer, length);
}

off_t trib_entry_lseek(int fd, off_t offset, int whence) {
    return trib_entry_second_room(fd, offset, whence);
}

static bool distance_to(const uint8_t *from, const void *to, int32_t *distance) {
    intptr_t bytes = (intptr_t)to - (intptr_t)from;

    *distance = (int32_t)bytes;
    return *distance == bytes;
}

/* `code` is going to stand at `at`. */
static bool encode_jump(uint8_t *code, const uint8_t *at, const void *to) {
    int32_t distance;

    if (!distance_to(at + JUMP_BYTES, to, &distance))
        return false;
    code[0] = 0xe9;
    memcpy(code + 1, &distance, sizeof distance);
    return true;
}

/* Copies whole instructions of a function's beginning, at least JUMP_BYTES, and adjusts what is relative. Only those
 * that glibc's write and lseek have begun with (2.26 to 2.42). `to` is going to stand at `room`. Bytes copied, or 0. */
static unsigned move_beginning(const uint8_t *from, uint8_t *to, const uint8_t *room) {
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    unsigned done = 0;

    while (done < JUMP_BYTES) {
        const uint8_t *code = from + done;
        unsigned length = 0;
        if (memcmp(code, endbr64, 4) == 0)
            length = 4;
        else if (code[0] == 0x80 && code[1] == 0x3d) /* cmpb $n, x(%rip): is this program single-threaded? */
            length = 7;
        else if (code[0] == 0x64 && code[1] == 0x8b && code[2] == 0x04 && code[3] == 0x25) /* mov %fs:n, %eax */
            length = 8;
        else if (code[0] == 0xb8) /* mov $n, %eax: the number of the call */
            length = 5;
        else if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xec) /* sub $n, %rsp */
            length = 4;
        else if (code[0] == 0x48 && code[1] == 0x8d && code[2] == 0x05) /* lea x(%rip), %rax */
            length = 7;
        else
            return 0;
        memcpy(to + done, code, length);
        if (length == 7) { /* the distance is the last or the last but one field */
            unsigned field = code[0] == 0x80 ? 2 : 3;
            int32_t distance;
            memcpy(&distance, code + field, sizeof distance);
            if (!distance_to(room + done + 7, code + 7 + distance, &distance))
                return 0;
            memcpy(to + done + field, &distance, sizeof distance);
        }
        done += length;
    }
    return done;
}

/* Executable all the while: the page may hold the very code that changes it. */
static int change_code(uint8_t *at, const uint8_t *code, unsigned length) {
    void *page = (void *)((uintptr_t)at / PAGE_BYTES * PAGE_BYTES);
    uint64_t word;

    if (mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return -errno;
    if (length == sizeof word) {
        memcpy(&word, code, sizeof word);
        /* One store; in assembly, as a thread sanitizer keeps no shadow of code. */
        __asm__ volatile("movq %1, %0" : "=m"(*(uint64_t *)(void *)at) : "r"(word) : "memory");
    } else {
        memcpy(at, code, length);
    }
    return mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC) ? -errno : 0;
}

static int change_entry(uint8_t *entry, const void *target) {
    uint8_t code[8];

    memcpy(code, entry, sizeof code);
    if ((uintptr_t)entry % sizeof code || !encode_jump(code, entry, target))
        return -ENOTSUP;
    return change_code(entry, code, sizeof code);
}

static int patch(void *libc, const char *name, uint8_t *room, const void *target) {
    uint8_t code[32], *entry = libc ? dlsym(libc, name) : NULL;
    unsigned moved = entry ? move_beginning(entry, code, room) : 0;

    if (!moved || !encode_jump(code + moved, room + moved, entry + moved))
        return -ENOTSUP;
    int rc = change_code(room, code, moved + JUMP_BYTES);
    return rc ? rc : change_entry(entry, target);
}

int trib_entry_patch(void) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    int rc = patch(libc, "write", (uint8_t *)(uintptr_t)trib_entry_room, (void *)trib_write);

    if (rc)
        return rc;
    trib_write_pass_on();
    atomic_store(&patched, true);
    if (patch(libc, "lseek", (uint8_t *)(uintptr_t)trib_entry_second_room, (void *)trib_lseek) == 0)
        atomic_store(&sees_moves, true);
    return 0;
}

int trib_entry_patch_exit(void (*instead)(int code)) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    uint8_t *entry = libc ? dlsym(libc, "_exit") : NULL;

    return entry ? change_entry(entry, (void *)instead) : -ENOTSUP;
}

#else

ssize_t trib_entry_write(int fd, const void *buffer, size_t length) {
    return TRIB_NEXT(write)(fd, buffer, length);
}

off_t trib_entry_lseek(int fd, off_t offset, int whence) {
    return TRIB_NEXT(lseek)(fd, offset, whence);
}

int trib_entry_patch(void) {
    return -ENOTSUP;
}

int trib_entry_patch_exit(void (*instead)(int code)) {
    (void)instead;
    return -ENOTSUP;
}

#endif
