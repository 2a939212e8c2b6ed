/* SPDX-License-Identifier: Apache-2.0 */
/* The table of attributes as policies see it (tributary/attribute.h). */
#include <math.h>
#include <stdatomic.h>

#include <tributary/attribute.h>

#include "lifetime/estimate.h"
#include "state/state.h"

bool trib_attribute_read(const struct trib_state *state, trib_attribute_ref ref, struct trib_attribute_report *out) {
    const struct trib_attribute *row = trib_state_attribute(state, ref);

    if (!row)
        return false;
    *out = (struct trib_attribute_report){.who = row->who,
                                          .key = row->key,
                                          .written_bytes = row->written_bytes,
                                          .died_bytes = row->died_bytes,
                                          .live_bytes = row->live_bytes,
                                          .lifetime_mean_bytes = row->lifetime_mean,
                                          .lifetime_deviation_bytes = sqrt(row->lifetime_variance),
                                          .samples = row->samples,
                                          .stream = row->stream};
    return true;
}

void trib_attribute_sample(struct trib_state *state, trib_attribute_ref ref, uint64_t age_bytes, double weight) {
    struct trib_attribute *row = trib_state_attribute(state, ref);

    if (row)
        trib_estimate_sample(row, (double)age_bytes, weight);
}

double trib_attribute_lifetime(const struct trib_state *state, trib_attribute_ref ref, uint64_t clock_bytes) {
    const struct trib_attribute *row = trib_state_attribute(state, ref);

    return row ? trib_estimate_effective(row, clock_bytes) : 0;
}

uint16_t trib_attribute_stream(const struct trib_state *state, trib_attribute_ref ref) {
    const struct trib_attribute *row = trib_state_attribute(state, ref);

    return row ? atomic_load_explicit(&row->stream, memory_order_relaxed) : 0;
}

void trib_attribute_place(struct trib_state *state, trib_attribute_ref ref, uint16_t stream) {
    struct trib_attribute *row = trib_state_attribute(state, ref);

    if (row)
        atomic_store_explicit(&row->stream, stream, memory_order_relaxed);
}
