/* SPDX-License-Identifier: Apache-2.0 */
#include "lifetime/estimate.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>

#define BIRTH_UNIT_BYTES 4096.0 /* of live_birth_sum */

static double load(const _Atomic(double) *value) {
    return atomic_load_explicit(value, memory_order_relaxed);
}

/* Mean and variance under exponential weights: T. Finch, "Incremental calculation of weighted mean
 * and variance", 2009, section 9. The variance is the one about the moving mean, not the paper's
 * (FAST'19 uses none in the host). */
void trib_estimate_sample(struct trib_attribute *attribute, double age_bytes, double weight) {
    uint32_t samples = atomic_load_explicit(&attribute->samples, memory_order_relaxed);
    double mean = age_bytes, variance = 0;

    assert(weight > 0 && weight <= 1 && isfinite(age_bytes) && age_bytes >= 0);
    if (samples > 0) {
        double difference = age_bytes - load(&attribute->lifetime_mean);
        mean = load(&attribute->lifetime_mean) + weight * difference;
        variance = (1 - weight) * (load(&attribute->lifetime_variance) + weight * difference * difference);
    }
    atomic_store_explicit(&attribute->lifetime_mean, mean, memory_order_relaxed);
    atomic_store_explicit(&attribute->lifetime_variance, variance, memory_order_relaxed);
    if (samples < UINT32_MAX)
        atomic_store_explicit(&attribute->samples, samples + 1, memory_order_relaxed);
}

double trib_estimate_effective(const struct trib_attribute *attribute, uint64_t clock_bytes) {
    double mean = load(&attribute->lifetime_mean);
    uint64_t live = atomic_load_explicit(&attribute->live_bytes, memory_order_relaxed);

    if (live == 0)
        return mean;
    double birth = load(&attribute->live_birth_sum) * BIRTH_UNIT_BYTES / (double)live;
    double age = (double)clock_bytes - birth;
    return age > mean ? age : mean;
}
