/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of interposed calls share. */
#ifndef TRIB_PRELOAD_CALLS_H
#define TRIB_PRELOAD_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* A regular file by its name, asked before a call that may end it. */
struct trib_named {
    uint64_t file, size_bytes, links;
};
/* False: not there, not a regular file, or nobody listens. flags of fstatat. Keeps errno. */
bool trib_named_look(int folder, const char *path, int flags, struct trib_named *out);

/* Before a descriptor is closed or replaced: tells of that and forgets it. */
void trib_descriptor_ending(int fd);
/* All that are open when the process ends. */
void trib_descriptors_ending(void);

/* After a vfork, in the parent: tells of the program that the child has started, if the shim will not see it. */
void trib_programs_report(void);

#endif
