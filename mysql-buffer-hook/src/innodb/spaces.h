/* SPDX-License-Identifier: Apache-2.0 */
/* Which tablespace a file holds, as its pages said so far: a page of another one is a copy even if its number fits the
 * offset. A fixed table of 4096 files; a file that lost its place is learnt again. Thread safety: any thread. */
#ifndef TRIB_BUFFER_SPACES_H
#define TRIB_BUFFER_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

/* A page of `space` is written to `file`, where it fits. True if the file is of that space. The first page of a file
 * says so for good: a file that is truncated and begun again has another number. */
bool trib_space_matches(uint64_t file, uint32_t space, bool first_page);

TRIB_C_END
#endif
