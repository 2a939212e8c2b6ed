/* SPDX-License-Identifier: Apache-2.0 */
/* The session file as its recorder has it: created, mapped as a whole, never read for its own layout. */
#ifndef TRIB_SESSION_RECORDER_FILE_H
#define TRIB_SESSION_RECORDER_FILE_H

#include "ring/layout.h"

struct trib_session_config;

struct trib_session_file {
    struct trib_session_header *header;
    struct trib_session_geometry geometry; /* not the one in the file, which others can write to */
    uint64_t pid_namespace;
    int fd;
    char path[4096];
};

/* As trib_session_open. */
int trib_session_file_create(struct trib_session_file *file, const struct trib_session_config *config,
                             struct trib_error *error);
/* Both rings of a slot are zero again, and without memory where the file system can. */
void trib_session_file_clear(struct trib_session_file *file, uint32_t slot);
void trib_session_file_close(struct trib_session_file *file); /* does not unlink */

#endif
