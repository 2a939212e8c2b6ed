/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of libc's own write(), lseek() and _exit(). Inside libc, stdio and exit() call these directly: no
 * interposed symbol sees what fwrite, printf or the flush at exit bring to the kernel. So the first instruction of
 * libc's write is replaced by a jump to trib_write; it runs on in a copy of its own. x86-64; an unknown first
 * instruction, or a system that lets nobody change code, leaves libc as it is: then stdio's writes go unseen, and the
 * status says so. lseek goes to trib_lseek likewise, so that a stream's offset need not be asked for. Why:
 * docs/decisions/0010-what-libc-does-inside.md.
 *
 * Patched once, in the constructor; each with one aligned 8-byte store, so that a running thread sees either. */
#ifndef TRIB_PRELOAD_ENTRY_H
#define TRIB_PRELOAD_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* 0; -ENOTSUP (not x86-64, no libc that looks like glibc's, an instruction that cannot be moved); -EACCES, -EPERM. */
int trib_entry_patch(void);
bool trib_entry_is_patched(void);

/* Whether every move of a descriptor by libc comes by trib_lseek, stdio's too. */
bool trib_entry_sees_moves(void);

/* The same for _exit, which the last line of exit() calls; `instead` must end the process itself. */
int trib_entry_patch_exit(void (*instead)(int code));

/* libc's write, without the jump. */
ssize_t trib_entry_write(int fd, const void *buffer, size_t length);

off_t trib_entry_lseek(int fd, off_t offset, int whence);

/* Where the patches jump to; and from then on the interposed symbol only passes on. */
ssize_t trib_write(int fd, const void *buffer, size_t length);
void trib_write_pass_on(void);
off_t trib_lseek(int fd, off_t offset, int whence);

#endif
