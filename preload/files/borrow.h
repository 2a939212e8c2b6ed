/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor of a mapped file whose own the program has closed, for as long as it takes to ask which pages are
 * dirty.
 *
 * Closing any descriptor of a file drops the process's POSIX locks on it (fcntl(2)): while anybody holds such a
 * lock, or so many others hold locks that asking would take long, nothing is borrowed, which is known before anything
 * is opened; what was borrowed before somebody took one stays open, sixteen times at most. Raw calls, made within the
 * program's own sync: readlink in /proc/self/map_files, fstat, fcntl, open and close of the file and of /proc/locks.
 *
 * Thread safety: any thread, signal handlers; of two at once, one goes without. */
#ifndef TRIB_PRELOAD_BORROW_H
#define TRIB_PRELOAD_BORROW_H

#include <stdint.h>

/* Of the file mapped at [start, end), whole pages and one mapping of the kernel's; -1: not to be had, or another
 * than `file` (trib_file_identity), or somebody else is asking. */
int trib_borrow_descriptor(uintptr_t start, uintptr_t end, uint64_t file);
void trib_return_descriptor(int fd);

#endif
