/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader's list says of an address of the running program. At start-up only: takes the loader's lock. */
#ifndef TRIB_BUFFER_MODULE_H
#define TRIB_BUFFER_MODULE_H

#include <stdbool.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_BUILD_ID_TEXT 65u

/* Hexadecimal; empty: there is none. */
void trib_module_build_id(const void *address, char text[TRIB_BUILD_ID_TEXT]);

/* In a data segment that stays writable. */
bool trib_module_is_writable(const void *address);

TRIB_C_END
#endif
