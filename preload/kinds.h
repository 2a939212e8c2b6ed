/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is for, by its name: the kinds that the tables of policy `manual` know. Pure function. */
#ifndef TRIB_PRELOAD_KINDS_H
#define TRIB_PRELOAD_KINDS_H

#include <stdint.h>

/* enum trib_file_kind of a path as the kernel shows it; TRIB_FILE_UNKNOWN for an empty one. */
uint8_t trib_kind_of(const char *path);

#endif
