/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor of a mapped file whose own the program has closed, for as long as it takes to ask which pages are dirty.
 *
 * It is opened in a thread that has a table of its own: nobody in the program meets it, takes its number or inherits
 * it, and closing it leaves the program's POSIX locks on the file alone, which belong to the program's table
 * (fcntl(2)). Raw calls, made within the program's own sync: clone, close_range, readlinkat in /proc/self/map_files,
 * openat, fstat, close.
 *
 * Thread safety: any thread, signal handlers. */
#ifndef TRIB_PRELOAD_BORROW_H
#define TRIB_PRELOAD_BORROW_H

#include <stdint.h>

struct trib_borrowed {
    uintptr_t start, end; /* of memory: whole pages and one mapping of the kernel's */
    uint64_t file;        /* trib_file_identity of what is mapped there */
};

/* By raw calls, without thread-local memory (producer/aside.h). */
typedef void trib_borrower(int fd, void *arg);

/* Runs ask(fd, arg), which has come to its end then. 0; -ENOENT: another file is there, or none has that name; -errno
 * of what did not work (aside.h). */
int trib_borrow(const struct trib_borrowed *what, trib_borrower *ask, void *arg);

#endif
