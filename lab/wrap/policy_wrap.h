/* SPDX-License-Identifier: Apache-2.0 */
/* A policy around another: counts and times its calls, hands it the future, and reports deaths. The flow sees one
 * policy and knows nothing of this. Thread safety: as the policy inside; one replay. */
#ifndef TRIB_LAB_POLICY_WRAP_H
#define TRIB_LAB_POLICY_WRAP_H

#include <tributary/policy.h>

#include "wrap/trial.h"

TRIB_C_BEGIN

/* In classes of an eighth of an octave of nanoseconds, because a mean would tell of the machine's other work. */
#define TRIB_PROBE_CLASSES 256u
struct trib_probe {
    uint64_t calls;
    uint32_t timed[TRIB_PROBE_CLASSES];
};

struct trib_policy_wrap {
    struct trib_policy outer; /* what the flow opens */
    const struct trib_policy *inner;
    void *self; /* of the inner one */
    struct trib_state *state;
    struct trib_probe place, died;
    const uint32_t *deaths; /* by block written */
    uint64_t deaths_count;
    uint16_t placed; /* the last answer */
    const struct trib_observer *observer;
};

/* The table to open instead of `inner`; lives in `wrap`. */
const struct trib_policy *trib_policy_wrap(struct trib_policy_wrap *wrap, const struct trib_policy *inner,
                                           const struct trib_observer *observer);

/* The middle of the class that has the median; 0 if nothing was timed. */
double trib_probe_median_ns(const struct trib_probe *probe);

TRIB_C_END
#endif
