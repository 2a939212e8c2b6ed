/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that tell nothing, as a line for people. Pure function. Which they are: tributary/session.h. */
#ifndef TRIB_SESSION_COVERAGE_H
#define TRIB_SESSION_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <tributary/client.h>

TRIB_C_BEGIN

/* Adds "path (why)" to `list`. False: it is there already, or does not fit. */
bool trib_uncovered_add(char *list, size_t capacity, const char *path, enum trib_uncovered why);

TRIB_C_END
#endif
