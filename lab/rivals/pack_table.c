/* SPDX-License-Identifier: Apache-2.0 */
/* What libtributary-rivals.so exports; not in the static part of the laboratory. */
#include "rivals/rivals.h"

TRIB_EXPORT extern const struct trib_policy_pack trib_policy_pack;

const struct trib_policy_pack trib_policy_pack = {.version = TRIB_POLICY_VERSION, .policies = trib_rivals_list};
