/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for what is known of descriptors (descriptors.h): a slot and room for a name for each number. Those of the
 * first numbers are there, the others are mapped when the first of them is opened for writing or written through, and
 * touched as they come into use; fewer of them, or none, where the program's memory is limited.
 *
 * Thread safety: any thread, signal handlers, but for the giving back. */
#ifndef TRIB_PRELOAD_SLOTS_H
#define TRIB_PRELOAD_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/names.h"

#define TRIB_SLOTS_FIRST 128u

struct trib_slot {
    _Atomic(uint64_t) file, offset;
    _Atomic(uint64_t) votes; /* file_stream.h */
    _Atomic(uint32_t) word;  /* descriptors.c */
    _Atomic(uint32_t) children;
};

struct trib_slots {
    struct trib_slot first[TRIB_SLOTS_FIRST], *mapped;
    struct trib_name first_name[TRIB_SLOTS_FIRST], *mapped_name;
    _Atomic(uint32_t) count; /* mapped; descriptors beyond are looked up for every write */
    _Atomic(uint32_t) names; /* mapped; descriptors beyond have no name */
    _Atomic(uint32_t) end;   /* one behind the last that was ever used; raised before it is touched */
};
extern struct trib_slots trib_slots __attribute__((visibility("hidden")));

/* Maps the others, once, by raw system calls. Whoever comes meanwhile has none of them yet, and does not wait. */
void trib_slots_extend(void);
void trib_slots_inherited(void); /* in the child of a fork: whoever was extending is not here */

/* What lies behind the last in use. Nobody else may use any meanwhile. */
void trib_slots_give_back(void);

/* In use: what is not may be given back by a signal handler at any time. */
static inline bool trib_slot_is_kept(int fd) {
    return (uint32_t)fd < atomic_load_explicit(&trib_slots.end, memory_order_acquire) &&
           (uint32_t)fd - TRIB_SLOTS_FIRST < atomic_load_explicit(&trib_slots.count, memory_order_acquire);
}

/* NULL: there is none for this number, or nobody has used it. */
static inline struct trib_slot *trib_slot(int fd) {
    if ((uint32_t)fd < TRIB_SLOTS_FIRST)
        return &trib_slots.first[fd];
    return trib_slot_is_kept(fd) ? &trib_slots.mapped[(uint32_t)fd - TRIB_SLOTS_FIRST] : NULL;
}
static inline struct trib_name *trib_slot_name(int fd) {
    uint32_t beyond = (uint32_t)fd - TRIB_SLOTS_FIRST, names;

    if ((uint32_t)fd < TRIB_SLOTS_FIRST)
        return &trib_slots.first_name[fd];
    names = atomic_load_explicit(&trib_slots.names, memory_order_acquire);
    return beyond < names && trib_slot_is_kept(fd) ? &trib_slots.mapped_name[beyond] : NULL;
}

/* From now on `fd` has a slot, if there is one for it. */
static inline void trib_slots_use(int fd) {
    uint32_t end = atomic_load_explicit(&trib_slots.end, memory_order_relaxed);
    uint32_t room = TRIB_SLOTS_FIRST + atomic_load_explicit(&trib_slots.count, memory_order_acquire);

    while ((uint32_t)fd >= end && (uint32_t)fd < room &&
           !atomic_compare_exchange_weak(&trib_slots.end, &end, (uint32_t)fd + 1))
        ;
}
static inline uint32_t trib_slots_end(void) {
    return atomic_load_explicit(&trib_slots.end, memory_order_acquire);
}

#endif
