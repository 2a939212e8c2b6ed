/* SPDX-License-Identifier: Apache-2.0 */
/* The policies that registry.c lists, and what the static ones share. Those of the engine may look at rows of the state
 * directly; packs have tributary/attribute.h. Thread safety: constant data, pure functions. */
#ifndef TRIB_POLICY_POLICIES_H
#define TRIB_POLICY_POLICIES_H

#include <tributary/policy.h>

#include "state/state.h"

TRIB_C_BEGIN

extern const struct trib_policy trib_policy_none;
extern const struct trib_policy trib_policy_manual;
extern const struct trib_policy trib_policy_rocksdb_hints;
extern const struct trib_policy trib_policy_pcstream;
extern const struct trib_policy trib_policy_tributary;

/* Stream of a write hint in the Linux driver (4.13 to 5.17): NOT_SET and NONE 0, the others hint
 * - 1. */
uint16_t trib_stream_of_hint(uint8_t write_hint);

TRIB_C_END
#endif
