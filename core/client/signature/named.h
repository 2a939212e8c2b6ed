/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that have a name instead of a place in a file. Pure functions; the table of names is the modules'. */
#ifndef TRIB_SIGNATURE_NAMED_H
#define TRIB_SIGNATURE_NAMED_H

#include <stdbool.h>

#include <tributary/signature.h>

TRIB_C_BEGIN

/* What `module` shows people, or NULL: it is an ELF file. */
const char *trib_named_text(const struct trib_module *module);

TRIB_C_END
#endif
