/* SPDX-License-Identifier: Apache-2.0 */
#include "code_patch.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint8_t prologue[TRIB_PROLOGUE_BYTES] = {
    0xf3, 0x0f, 0x1e, 0xfa, /* endbr64 */
    0x55,                   /* push %rbp */
    0x48, 0x89, 0xe5,       /* mov %rsp,%rbp */
};
#define JUMP_BYTES 5u
#define TOP_BYTE   0x55u /* of the jump's distance: push %rbp */

bool trib_code_hook_fits(const uint8_t *function) {
#ifdef __x86_64__
    return (uintptr_t)function % sizeof(uint64_t) == 0 && memcmp(function, prologue, sizeof prologue) == 0;
#else
    (void)function;
    return false;
#endif
}

/* A page that a jump from `function` reaches with TOP_BYTE on top. */
static void *map_stub(uintptr_t function, size_t page) {
    uintptr_t base = function + JUMP_BYTES + ((uintptr_t)TOP_BYTE << 24);

    for (uintptr_t at = (base + page - 1) / page * page; at < base + (1u << 24); at += 16 * page) {
        void *got = mmap((void *)at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == (void *)at)
            return got;
        if (got != MAP_FAILED) /* a kernel before 4.17 takes the address as a hint */
            munmap(got, page);
    }
    return NULL;
}

static void write_stub(uint8_t *stub, const uint8_t *function, trib_code_hook *hook) {
    static const uint8_t code[] = {
        0x55,                   /* push %rbp */
        0x48, 0x89, 0xe5,       /* mov %rsp,%rbp */
        0x57, 0x57,             /* push %rdi, twice: the stack stays aligned */
        0x48, 0x89, 0xee,       /* mov %rbp,%rsi */
        0x48, 0xb8,             /* mov $hook,%rax */
        0,    0,    0,    0,    0, 0, 0, 0,
        0xff, 0xd0,             /* call *%rax */
        0x5f, 0x5f,             /* pop %rdi, twice */
        0xff, 0x25, 0, 0, 0, 0, /* jmp *(%rip) */
        0,    0,    0,    0,    0, 0, 0, 0,
    };
    uintptr_t go_on = (uintptr_t)function + TRIB_PROLOGUE_BYTES;

    memcpy(stub, code, sizeof code);
    memcpy(stub + 11, &hook, sizeof hook);
    memcpy(stub + sizeof code - sizeof go_on, &go_on, sizeof go_on);
}

static uint64_t jump_to(const uint8_t *stub, const uint8_t *function) {
    uint8_t bytes[TRIB_PROLOGUE_BYTES];
    uint32_t distance = (uint32_t)(stub - (function + JUMP_BYTES));
    uint64_t word;

    memcpy(bytes, prologue, sizeof bytes);
    bytes[0] = 0xe9;
    memcpy(bytes + 1, &distance, sizeof distance);
    memcpy(&word, bytes, sizeof word);
    return word;
}

static int store(uint8_t *function, uint64_t word, size_t page) {
    void *begin = (void *)((uintptr_t)function / page * page);

    /* Executable all the while: others run in this page. x86-64 fetches code coherently, old or new, and either will do:
     * no barrier. membarrier's SYNC_CORE, once registered, would have every later switch to this program serialize. */
    if (mprotect(begin, page, PROT_READ | PROT_WRITE | PROT_EXEC))
        return -EACCES;
    __atomic_store_n((uint64_t *)(void *)function, word, __ATOMIC_SEQ_CST);
    (void)mprotect(begin, page, PROT_READ | PROT_EXEC);
    return 0;
}

int trib_code_hook_put(struct trib_code_patch *patch, uint8_t *function, trib_code_hook *hook) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t original;

    if (!trib_code_hook_fits(function))
        return -ENOTSUP;
    uint8_t *stub = map_stub((uintptr_t)function, page);
    if (!stub)
        return -ENOMEM;
    memcpy(&original, function, sizeof original);
    write_stub(stub, function, hook);
    int rc = mprotect(stub, page, PROT_READ | PROT_EXEC) ? -EACCES : store(function, jump_to(stub, function), page);
    if (rc) {
        munmap(stub, page);
        return rc;
    }
    *patch = (struct trib_code_patch){function, original, stub};
    return 0;
}

void trib_code_hook_remove(struct trib_code_patch *patch) {
    if (patch->function)
        (void)store(patch->function, patch->original, (size_t)sysconf(_SC_PAGESIZE));
    patch->function = NULL;
}
