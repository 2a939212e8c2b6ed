/* SPDX-License-Identifier: Apache-2.0 */
/* The last few chains of a thread and their signatures. A hit compares every word that the signature depends on, so
 * it is exact. Thread safety: each thread has its own (20 KiB), from the VM's event of its beginning to that of its
 * end: no write takes memory. One that was there before us has none, and its chains are walked each time. */
#ifndef TRIB_JVM_MEMO_H
#define TRIB_JVM_MEMO_H

#include <stdint.h>

#include "path/chain.h"

struct trib_memo_entry {
    uint64_t epoch, native; /* of the code; native part of the path */
    uint64_t signature;     /* 0 = free */
    uint32_t tag;
    struct trib_chain chain;
};

/* This thread of Java begins, or has been met; it ends. */
void trib_memo_begin(void);
void trib_memo_end(void);

/* The one entry for what begins at `frame`; NULL: this thread has no memo. */
struct trib_memo_entry *trib_memo_at(const void *frame);

/* What was known without asking: counted by thread, because two that write at once would take a common line of cache
 * from each other with every write. */
void trib_memo_count_hit(void);
uint64_t trib_memo_hits(void);

#endif
