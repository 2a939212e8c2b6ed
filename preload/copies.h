/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIB_PRELOAD_COPIES_H
#define TRIB_PRELOAD_COPIES_H

#include <stdbool.h>

#define TRIB_COPIES_PRELOAD "trib_shim_start" /* what libtributary-preload.so exports and no other adapter does */

/* By which copies of this adapter know one another: a symbol that it exports, and no other library. */
extern const char *const trib_copies_symbol;

/* The symbol in another library that comes before this one in the loader's order, or NULL. Asks the loader: not on the
 * way of a hooked call. */
void *trib_copies_first(const char *symbol);

/* Whether this is not the first copy of its adapter. At start-up only. */
bool trib_copies_is_second(void);

#endif
