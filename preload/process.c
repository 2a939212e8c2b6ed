/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the process: start, children, end. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tributary/signature.h>

#include "calls/calls.h"
#include "copies.h"
#include "files/mappings.h"
#include "files/names.h"
#include "libc/libc_entry.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "patch/code.h"
#include "patch/imports.h"
#include "quiet.h"
#include "record.h"
#include "shim.h"
#include "sink.h"

/* ---- children share the offsets of their parent's descriptors ---- */

/* Not static: vfork below calls it by name. */
void trib_child_comes(void) __attribute__((visibility("hidden")));

void trib_child_comes(void) {
    trib_descriptors_shared();
}

static void in_child(void) {
    trib_ask_inherited();
    trib_descriptors_inherited();
    trib_mappings_clear();
    if (trib_sink_is_private()) /* its parent may end before it writes, and the daemon with it */
        trib_sink_join();
}

TRIB_CALL int system(const char *command) {
    trib_descriptors_shared();
    return TRIB_NEXT(system)(command);
}

/* The pipe's number is new here. */
TRIB_CALL FILE *popen(const char *command, const char *mode) {
    trib_descriptors_shared();
    FILE *stream = TRIB_NEXT(popen)(command, mode);
    if (stream)
        trib_descriptor_forget(fileno(stream));
    return stream;
}

#ifdef __x86_64__
/* The child of a vfork runs on its parent's memory, thread-local memory included, until it executes a program: it
 * counts trib_in_vfork up, so that its close and dup2 leave the parent's table alone; the parent puts back what was
 * there (a child that is killed may not have got as far) and records what the child has left to be recorded.
 *
 * The child uses the stack, so what the parent needs waits in registers: rdx the return address, esi trib_in_vfork. A
 * shadow stack is shared as well, and the child must leave the parent's entry of it in place: it jumps to its caller,
 * where a return would free the entry for its next call to overwrite (glibc's vfork does the same). The parent pushes
 * the address again and returns as its entry says. */
__asm__(".pushsection .text\n"
        ".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    sub $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call trib_child_comes\n"
        "    add $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    mov trib_in_vfork@gottpoff(%rip), %rcx\n"
        "    mov %fs:(%rcx), %esi\n"
        "    pop %rdx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    .cfi_register %rip, %rdx\n"
        "    mov $58, %eax\n" /* SYS_vfork; the kernel keeps rdx and rsi, but neither rcx nor r11 */
        "    syscall\n"
        "    mov trib_in_vfork@gottpoff(%rip), %rcx\n"
        "    test %rax, %rax\n"
        "    jne 1f\n"
        "    incl %fs:(%rcx)\n"
        "    jmp *%rdx\n"
        "1:  push %rdx\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_offset %rip, -8\n"
        "    mov %esi, %fs:(%rcx)\n"
        "    jl trib_syscall_failed\n" /* calls/raw.c; mov keeps the flags */
        "    push %rax\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call trib_programs_report\n"
        "    pop %rax\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size vfork, .-vfork\n"
        ".popsection\n");
_Static_assert(SYS_vfork == 58, "the number above");
#endif

/* ---- start and end ---- */

static void hook(void) {
    static bool is_hooked; /* a server's daemon may have ended, and it starts another */

    if (is_hooked)
        return;
    is_hooked = true;
    trib_signature_prepare_by_hand(); /* a program may lock itself in before its first write */
    /* A reason to join, though nothing is written yet. Not where it is the preload library that has changed the code.
     */
    if (trib_entry_patch() != 0 && !trib_copies_first(TRIB_COPIES_PRELOAD))
        trib_sink_uncovered(trib_signature_program(), TRIB_UNCOVERED_STDIO);
    pthread_atfork(trib_child_comes, NULL, in_child);
    trib_folder_start();
    trib_stack_start();
}

__attribute__((constructor)) static void start(void) {
    int kept = errno;

    trib_next_start();
    trib_sink_start();
    if (trib_sink_wanted())
        hook();
    errno = kept;
}

int trib_shim_start(const char *options, struct trib_error *error) {
    if (trib_sink_wanted())
        return 0;
    int rc = trib_sink_start_with(options, error);
    if (rc == 0) {
        hook();
        trib_signature_prepare(); /* a server, at a time that its adapter chose */
    }
    return rc;
}

/* What was closed or opened meanwhile went by unseen. */
void trib_shim_pause(bool pause) {
    if (!pause)
        trib_descriptors_forget(0, UINT_MAX);
    trib_sink_pause(pause);
}

void trib_shim_name_signature(uint64_t signature) {
    trib_sink_name_signature(signature);
}

bool trib_shim_status(struct trib_status *out) {
    return trib_sink_status(out);
}

const char *trib_shim_unseen(void) {
    int code = trib_entry_code();

    return code == 0 ? NULL : code == -ECANCELED ? "nobody has asked for it" : trib_patch_reason(code);
}

int trib_shim_patch_imports(void) {
    return trib_patch_imports(trib_next_look);
}

__attribute__((destructor)) static void stop(void) {
    if (!trib_sink_wanted())
        return;
    trib_mappings_sync_all();
    trib_descriptors_settle();
}
