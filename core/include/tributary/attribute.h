/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy may see of what was learned: the table of attributes, one row for each (salted) signature, and the
 * deaths that feed it. Lifetimes and ages are in host bytes. Thread safety: reading a stream needs no lock; everything
 * else is called where a policy's functions run under the state's lock (policy.h). */
#ifndef TRIBUTARY_ATTRIBUTE_H
#define TRIBUTARY_ATTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>

TRIB_C_BEGIN

struct trib_state;

/* A row. 0 = none; a reference whose row was evicted meanwhile is noticed. */
typedef uint32_t trib_attribute_ref;

/* Data that just died: one call per (request, extent). */
struct trib_death {
    trib_attribute_ref attribute; /* who wrote it; its row may have been evicted */
    uint64_t file, offset_bytes, length_bytes;
    uint64_t age_bytes; /* its lifetime */
    uint16_t stream;    /* where it had been put */
    uint8_t cause;      /* enum trib_cause */
};

/* A row as learned so far. */
struct trib_attribute_report {
    struct trib_context who; /* as first seen */
    uint64_t key, written_bytes, died_bytes, live_bytes;
    double lifetime_mean_bytes, lifetime_deviation_bytes;
    uint32_t samples;
    uint16_t stream;
};

/* Host bytes written so far. */
TRIB_EXPORT uint64_t trib_state_clock(const struct trib_state *state);

/* Rows in the order of the table: pass 0 first, then what the last call returned; 0 when there are no more. */
TRIB_EXPORT uint32_t trib_state_next(const struct trib_state *state, uint32_t from, trib_attribute_ref *ref);

/* false, and `out` untouched: the row was evicted, or there never was one. */
TRIB_EXPORT bool trib_attribute_read(const struct trib_state *state, trib_attribute_ref ref,
                                     struct trib_attribute_report *out);

/* One lifetime into the row's mean and deviation. weight of the new one: 0 < weight <= 1. */
TRIB_EXPORT void trib_attribute_sample(struct trib_state *state, trib_attribute_ref ref, uint64_t age_bytes,
                                       double weight);

/* Mean lifetime, raised by the age of what is still alive; 0 = nothing is known. */
TRIB_EXPORT double trib_attribute_lifetime(const struct trib_state *state, trib_attribute_ref ref,
                                           uint64_t clock_bytes);

/* The stream a policy gave the row; 0 = none. It is kept with the state and outlives the process, so a reader must
 * check it against the streams that the drive has now. */
TRIB_EXPORT uint16_t trib_attribute_stream(const struct trib_state *state, trib_attribute_ref ref);
TRIB_EXPORT void trib_attribute_place(struct trib_state *state, trib_attribute_ref ref, uint16_t stream);

TRIB_C_END
#endif
