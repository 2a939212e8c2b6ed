/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include <stdatomic.h>

#define ROWS   8192u
#define PROBES 8u

static struct row {
    _Alignas(32) _Atomic(uint64_t) signature; /* 0 = free; a row never lies on two lines of cache */
    _Atomic(uint64_t) writes, bytes;
} rows[ROWS];
static _Atomic(uint64_t) lost;

void trib_tally_add(uint64_t signature, uint64_t bytes) {
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct row *row = &rows[(signature + probe) % ROWS];
        uint64_t present = atomic_load_explicit(&row->signature, memory_order_relaxed);
        if (present == 0 && atomic_compare_exchange_strong(&row->signature, &present, signature))
            present = signature;
        if (present != signature)
            continue;
        atomic_fetch_add_explicit(&row->writes, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&row->bytes, bytes, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
}

void trib_tally_visit(void (*visit)(void *arg, uint64_t signature, uint64_t writes, uint64_t bytes), void *arg) {
    for (unsigned i = 0; i < ROWS; i++)
        if (atomic_load(&rows[i].signature))
            visit(arg, rows[i].signature, rows[i].writes, rows[i].bytes);
}

uint64_t trib_tally_lost(void) {
    return atomic_load(&lost);
}
