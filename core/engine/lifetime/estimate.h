/* SPDX-License-Identifier: Apache-2.0 */
/* Lifetime estimates per signature: EWMA of mean and variance over deaths, censored ages for data
 * that do not die. Caller holds trib_state_lock. */
#ifndef TRIB_LIFETIME_ESTIMATE_H
#define TRIB_LIFETIME_ESTIMATE_H

#include "state/state.h"
#include <tributary/error.h>

TRIB_C_BEGIN

/* One lifetime sample. weight: averaging factor in (0, 1]; 1/2 is the paper's "average of old and
 * new" (FAST'19 section 5.2). The first sample sets the mean. */
void trib_estimate_sample(struct trib_attribute *attribute, double age_bytes, double weight);

/* What clustering should believe: max(mean, mean age of the live bytes if that is older than the
 * mean); 0 if nothing is known. Right-censored data push the estimate up, never down (algorithms:
 * FAST'19 leaves immortal data unknown). */
double trib_estimate_effective(const struct trib_attribute *attribute, uint64_t clock_bytes);

TRIB_C_END
#endif
