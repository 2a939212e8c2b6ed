/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader knows of libjvm.so: where it lies and what it exports. Asked when somebody loads or attaches the
 * agent, and, preloaded, when a thread is made: the launcher makes one after it has loaded libjvm and before there is a
 * VM. On a write nobody asks the loader for anything.
 *
 * Thread safety: any thread. resolve takes the loader's locks; the others are loads, async-signal-safe. */
#ifndef TRIB_JVM_LIBJVM_H
#define TRIB_JVM_LIBJVM_H

#include <stdbool.h>
#include <stdint.h>

/* Whether it is there. Keeps errno. */
bool trib_libjvm_resolve(void);

/* What was resolved before. */
bool trib_libjvm_is_there(void);
void *trib_libjvm_symbol(const char *name);              /* NULL: not exported, or none of those that are needed */
const char *trib_libjvm_path(void);                      /* of its file; empty: unknown */
void trib_libjvm_code(uintptr_t *start, uintptr_t *end); /* 0, 0: unknown */

#endif
