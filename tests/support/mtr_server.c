/* SPDX-License-Identifier: Apache-2.0 */
/* What libtributary-mysql.so takes for MySQL: mtr_server FOLDER FAULT [at]. Commits mini-transactions that dirty pages
 * and writes the pages to a tablespace; from number `at` on (0) they have the fault (tests/support/mtr_server.h).
 * Prints the hook's status. Exit code 0: all went its way. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/mtr_server.h"

#define PAGE_BYTES 16384u
#define COMMITS    3000u

/* What the hook looks for. */
__attribute__((visibility("default"))) int thd_sql_command(const void *thread);
int thd_sql_command(const void *thread) {
    return thread ? 1 : 0;
}
__attribute__((visibility("default"))) unsigned long srv_page_size = PAGE_BYTES, srv_buf_pool_size = 64 * PAGE_BYTES;

_Static_assert(sizeof(void *) == 8 && __builtin_offsetof(struct mtr, modifications) == 0x481 &&
                   __builtin_offsetof(struct mtr, records) == 0x490 && __builtin_offsetof(struct mtr, state) == 0x498,
               "as in the server");

#ifdef MTR_SILENT /* code that does not say where the fields are */
#define BODY "nop\n"
#else
#define BODY                                                                                                           \
    "movl $56456, 0x498(%rdi)\n"                                                                                       \
    "cmpb $0, 0x481(%rdi)\n"                                                                                           \
    "cmpl $0, 0x490(%rdi)\n"                                                                                           \
    "movl 0x494(%rdi), %eax\n"
#endif

__asm__(".pushsection .text\n"
        ".globl _ZN5mtr_t6commitEv\n"
        ".type _ZN5mtr_t6commitEv, @function\n"
        ".balign 16\n"
        "_ZN5mtr_t6commitEv:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 6, -16\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register 6\n" BODY "pop %rbp\n"
        ".cfi_def_cfa 7, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size _ZN5mtr_t6commitEv, .-_ZN5mtr_t6commitEv\n"
        ".skip 256, 0x90\n"
        ".popsection\n");
void commit(struct mtr *mtr) __asm__("_ZN5mtr_t6commitEv");

static void big_endian(uint8_t *at, unsigned bytes, uint64_t value) {
    while (bytes--) {
        at[bytes] = (uint8_t)value;
        value >>= 8;
    }
}

static int write_page(int fd, const struct mtr_page *page, uint64_t lsn) {
    static uint8_t frame[PAGE_BYTES];

    big_endian(frame + 4, 4, page->page);
    big_endian(frame + 16, 8, lsn);
    big_endian(frame + 24, 2, 17855);
    big_endian(frame + 34, 4, page->space);
    big_endian(frame + 66, 8, 77);
    return pwrite(fd, frame, sizeof frame, (off_t)page->page * (off_t)PAGE_BYTES) == (ssize_t)sizeof frame ? 0 : -1;
}

__attribute__((noinline)) static void change(const struct mtr_page *page, enum mtr_fault fault) {
    struct mtr_block blocks[2];
    struct mtr mtr;

    mtr_begin(&mtr, blocks, page);
    mtr.records = 0; /* one that only reads, first */
    commit(&mtr);
    mtr_begin(&mtr, blocks, page);
    mtr_spoil(&mtr, blocks, fault);
    commit(&mtr);
}

static void print_status(void) {
    char *(*status)(void *, void *, char *, unsigned long *, char *, char *);
    char text[256] = "";
    unsigned long length = 0;

    *(void **)&status = dlsym(RTLD_DEFAULT, "tributary_status");
    if (status)
        printf("%.*s\n", (int)(status(NULL, NULL, text, &length, NULL, NULL), length), text);
}

int main(int argc, char **argv) {
    enum mtr_fault fault = MTR_SOUND;
    char path[512];

    if (argc < 3)
        return 2;
    while (fault < MTR_FAULTS && strcmp(mtr_fault_names[fault], argv[2]) != 0)
        fault++;
    snprintf(path, sizeof path, "%s/t.ibd", argv[1]);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    unsigned from = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    if (fault == MTR_FAULTS || fd < 0)
        return 2;
    for (unsigned i = 0; i < COMMITS; i++) {
        struct mtr_page page = {.space = 5, .page = 3 + i % 50};
        change(&page, i < from ? MTR_SOUND : fault);
        if (write_page(fd, &page, 1000 + i))
            return 1;
    }
    print_status();
    return close(fd);
}
