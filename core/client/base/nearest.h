/* SPDX-License-Identifier: Apache-2.0 */
/* How far a mistyped word is from the one that was meant. Thread safety: pure functions. */
#ifndef TRIB_BASE_NEAREST_H
#define TRIB_BASE_NEAREST_H

#include <stdbool.h>

#include <tributary/error.h>

TRIB_C_BEGIN

/* Letters to add, drop, change, or swap with their neighbour, to make one of the other. Words of more than 31 bytes are
 * far from all but themselves. */
unsigned trib_edits(const char *a, const char *b);

/* Near enough to be meant: two edits at most, and one for each three letters. False for the same word. */
bool trib_is_near(const char *typed, const char *word);

TRIB_C_END
#endif
