/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a path, kept without memory of its own from where the program says it to where it is wanted. A path
 * that is longer loses its beginning: kind and file are at its end.
 *
 * Thread safety: any thread, signal handlers; nobody waits. Of two that put at once one counts; who reads
 * meanwhile gets nothing. */
#ifndef TRIB_PRELOAD_NAMES_H
#define TRIB_PRELOAD_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIB_NAME_WORDS     15u
#define TRIB_NAME_BYTES_MAX (TRIB_NAME_WORDS * 8u)

struct trib_name {          /* zeroed: none */
    _Atomic(uint64_t) head; /* how often it was put, then whether that goes on, then its length in 7 bits */
    _Atomic(uint64_t) words[TRIB_NAME_WORDS];
};

/* A path on its way into or out of a trib_name. */
struct trib_name_text {
    size_t length;                       /* 0: none */
    char bytes[TRIB_NAME_BYTES_MAX + 1]; /* and a NUL */
};

void trib_name_put(struct trib_name *name, const struct trib_name_text *text);
/* False: none, or somebody puts one just now. */
bool trib_name_get(const struct trib_name *name, struct trib_name_text *out);

/* In the child of a fork: whoever was putting is not here. True: somebody was, and each name must be looked at. */
bool trib_names_inherited(void);
void trib_name_inherited(struct trib_name *name);

/* Of a descriptor that the shim did not see opened (a shell's redirection, what came over a socket, a file of a server
 * into which the library came late), asked of the kernel by one raw call. False: it has none. */
bool trib_name_ask(int fd, struct trib_name_text *out);

/* `path` as seen from `folder` (folder's length 0: unknown, then it stays relative). */
void trib_name_join(const struct trib_name_text *folder, const char *path, struct trib_name_text *out);

/* The current folder, followed as far as it can be without a question: unknown after fchdir and "..". */
void trib_folder_start(void); /* asks, once */
void trib_folder_get(struct trib_name_text *out);
void trib_folder_changed(const char *path); /* chdir said so; NULL: nobody knows where to */

#endif
