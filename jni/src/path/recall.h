/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures by 64-bit keys: a fixed table in which the newest stays. A pair of words that two threads wrote at once
 * fits no key. Thread safety: lock-free, any thread. */
#ifndef TRIB_JVM_RECALL_H
#define TRIB_JVM_RECALL_H

#include <stdatomic.h>
#include <stdint.h>

#include <tributary/signature.h>

#define TRIB_RECALL_SLOTS 65536u /* Cassandra under YCSB has about 1500 chains and 300 stacks */

struct trib_recall {
    struct {
        _Atomic(uint64_t) lock, signature; /* lock: key ^ signature */
    } slot[TRIB_RECALL_SLOTS];
};

/* TRIB_SIGNATURE_UNKNOWN: not there. */
static inline uint64_t trib_recall(const struct trib_recall *table, uint64_t key) {
    uint64_t signature = atomic_load_explicit(&table->slot[key % TRIB_RECALL_SLOTS].signature, memory_order_relaxed);
    uint64_t lock = atomic_load_explicit(&table->slot[key % TRIB_RECALL_SLOTS].lock, memory_order_relaxed);

    return (lock ^ signature) == key ? signature : TRIB_SIGNATURE_UNKNOWN;
}

static inline void trib_remember(struct trib_recall *table, uint64_t key, uint64_t signature) {
    atomic_store_explicit(&table->slot[key % TRIB_RECALL_SLOTS].signature, signature, memory_order_relaxed);
    atomic_store_explicit(&table->slot[key % TRIB_RECALL_SLOTS].lock, key ^ signature, memory_order_relaxed);
}

static inline uint64_t trib_recall_mix(uint64_t key, uint64_t word) {
    key = (key ^ word) * 0xff51afd7ed558ccdull;
    return key ^ key >> 32;
}

#endif
