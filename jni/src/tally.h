/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and bytes per signature, for people: a fixed table that loses what does not fit and counts that.
 * Thread safety: lock-free, any thread. */
#ifndef TRIB_JVM_TALLY_H
#define TRIB_JVM_TALLY_H

#include <stdint.h>

void trib_tally_add(uint64_t signature, uint64_t bytes);
void trib_tally_visit(void (*visit)(void *arg, uint64_t signature, uint64_t writes, uint64_t bytes), void *arg);
uint64_t trib_tally_lost(void);

#endif
