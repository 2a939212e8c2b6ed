/* SPDX-License-Identifier: Apache-2.0 */
/* Where a daemon listens: a socket that is its alone, and locks that leave no file behind. Thread safety: any, on
 * different paths. */
#ifndef TRIB_RECORDER_ADDRESS_H
#define TRIB_RECORDER_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include <tributary/error.h>

#include "recorder/access.h"

TRIB_C_BEGIN

/* A socket that listens at the path, for those on the list where the file system can say so, else for all; one that a
 * killed daemon left there is replaced. 0; -EADDRINUSE (a daemon answers), -ENAMETOOLONG, -EINVAL, -errno. */
int trib_address_listen(const char *path, const struct trib_access *access, int *out, struct trib_error *error);

/* A lock among processes of one user; its file is gone once nobody holds it. waits: five seconds. 0; -EAGAIN (another
 * has it), -EPERM (the file is another user's), -errno. */
int trib_address_lock(const char *path, bool waits, int *out);
void trib_address_unlock(const char *path, int lock); /* -1 is fine */

#define TRIB_ADDRESS_FOLDER "/run/tributary" /* of root's daemons, which everybody knows by their names */

/* NAME of FOLDER/NAME.sock, else the path itself: what `trib status` finds the daemon by. */
void trib_address_name(char *out, size_t capacity, const char *path, const char *folder);

/* Removes what a killed daemon left at the path: its socket, its lock. */
void trib_address_sweep(const char *path);

TRIB_C_END
#endif
