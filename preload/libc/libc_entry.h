/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of libc's own write() and lseek(). Inside libc, stdio and exit() call these directly: no
 * interposed symbol sees what fwrite, printf or the flush at exit bring to the kernel. So libc's write begins with a
 * jump to trib_write; what the jump replaced runs in a stub (core/client/patch/code.h). x86-64; an unknown beginning,
 * or a system that lets nobody change code, leaves libc as it is: then stdio's writes go unseen, and the status says
 * so. lseek goes to trib_lseek likewise, so that a stream's offset need not be asked for. Why:
 * docs/decisions/0010-what-libc-does-inside.md.
 *
 * Patched once, by one thread, in the constructor or when the program asks for it. */
#ifndef TRIB_PRELOAD_LIBC_ENTRY_H
#define TRIB_PRELOAD_LIBC_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* 0, or what trib_patch_reason knows. */
int trib_entry_patch(void);

/* As trib_entry_patch has returned it; -ECANCELED before. */
int trib_entry_code(void);

/* Whether every move of a descriptor by libc comes by trib_lseek, stdio's too. */
bool trib_entry_sees_moves(void);

/* libc's write, without the jump. */
ssize_t trib_entry_write(int fd, const void *buffer, size_t length);

off_t trib_entry_lseek(int fd, off_t offset, int whence);

/* Where the patches jump to; and whether the interposed symbol only passes on. */
ssize_t trib_write(int fd, const void *buffer, size_t length);
void trib_write_pass_on(bool passes);
off_t trib_lseek(int fd, off_t offset, int whence);

#endif
