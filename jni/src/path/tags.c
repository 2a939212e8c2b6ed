/* SPDX-License-Identifier: Apache-2.0 */
#include "path/tags.h"

#include <stdatomic.h>
#include <stdio.h>

#include "path/names.h"

_Thread_local uint32_t trib_tag_here;

/* By number - 1. A name has one frame, so that two who write it at once write the same. */
static struct {
    _Atomic(uint64_t) build_id; /* 0 = free */
    _Atomic(uint32_t) module;
} tags[TRIB_TAGS_MAX];

static uint32_t find_or_add(const struct trib_frame *frame) {
    for (uint32_t i = 0; i < TRIB_TAGS_MAX; i++) {
        uint64_t present = 0;
        if (!atomic_compare_exchange_strong(&tags[i].build_id, &present, frame->build_id) && present != frame->build_id)
            continue;
        atomic_store_explicit(&tags[i].module, frame->module, memory_order_relaxed);
        return i + 1;
    }
    return 0;
}

uint32_t trib_tag_intern(const char *name) {
    char text[TRIB_JAVA_NAME_BYTES];
    struct trib_frame frame;

    snprintf(text, sizeof text, "java:#%s", name); /* no class has a name that begins so */
    (void)trib_signature_named_frame(text, &frame);
    return find_or_add(&frame);
}

struct trib_frame trib_tag_frame(uint32_t number) {
    return (struct trib_frame){.build_id = atomic_load_explicit(&tags[number - 1].build_id, memory_order_relaxed),
                               .module = atomic_load_explicit(&tags[number - 1].module, memory_order_relaxed)};
}
