/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is for, by its name: the one table of all adapters, and the kinds that the tables of policy `manual`
 * know. Pure function, any thread, signal handlers: no locale, no memory. */
#ifndef TRIB_BASE_KINDS_H
#define TRIB_BASE_KINDS_H

#include <stdint.h>

/* enum trib_file_kind of an absolute path; TRIB_FILE_UNKNOWN for an empty one. Rules about folders want the folder's
 * '/' before them: a relative path is given with "./" in front. */
uint8_t trib_kind_of(const char *path);

#endif
