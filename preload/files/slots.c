/* SPDX-License-Identifier: Apache-2.0 */
#include "files/slots.h"

#include "base/memory.h"

#define MAPPED_MAX (65536u - TRIB_SLOTS_FIRST)
#define NAMES_MAX  (16384u - TRIB_SLOTS_FIRST)

struct trib_slots trib_slots;
enum { NONE, BEGUN, DONE };
static _Atomic(int) stage;

void trib_slots_extend(void) {
    const size_t bytes_each = sizeof *trib_slots.mapped + sizeof *trib_slots.mapped_name;
    int none = NONE;

    if (atomic_load_explicit(&stage, memory_order_relaxed) != NONE ||
        !atomic_compare_exchange_strong(&stage, &none, BEGUN))
        return;
    uint32_t count = trib_memory_fits(trib_memory_share_bytes(), bytes_each, MAPPED_MAX);
    uint32_t names = count < NAMES_MAX ? count : NAMES_MAX;
    trib_slots.mapped = trib_memory_map(count * sizeof *trib_slots.mapped);
    trib_slots.mapped_name = trib_memory_map(names * sizeof *trib_slots.mapped_name);
    atomic_store_explicit(&trib_slots.names, trib_slots.mapped_name ? names : 0, memory_order_release);
    atomic_store_explicit(&trib_slots.count, trib_slots.mapped ? count : 0, memory_order_release);
    atomic_store(&stage, DONE);
}

void trib_slots_inherited(void) {
    if (atomic_load(&stage) == BEGUN) /* a store copies the page */
        atomic_store(&stage, NONE);
}

static void shrink(_Atomic(uint32_t) *count, uint32_t used, void *start, size_t bytes_each) {
    uint32_t before = atomic_load(count);

    if (used >= before)
        return;
    atomic_store(count, used);
    trib_memory_unmap(start, used * bytes_each, before * bytes_each);
}

void trib_slots_give_back(void) {
    uint32_t end = trib_slots_end(), used = end > TRIB_SLOTS_FIRST ? end - TRIB_SLOTS_FIRST : 0;

    shrink(&trib_slots.count, used, trib_slots.mapped, sizeof *trib_slots.mapped);
    shrink(&trib_slots.names, used, trib_slots.mapped_name, sizeof *trib_slots.mapped_name);
}
