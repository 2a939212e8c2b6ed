/* SPDX-License-Identifier: Apache-2.0 */
#include "tags.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "names.h"

_Thread_local uint32_t trib_tag_here;

static struct trib_frame frames[TRIB_TAGS_MAX]; /* by number - 1; written once, before the number is known to anybody */
static uint32_t used;
static pthread_mutex_t interning = PTHREAD_MUTEX_INITIALIZER;

static uint32_t find_or_add(const struct trib_frame *frame) {
    for (uint32_t i = 0; i < used; i++)
        if (frames[i].build_id == frame->build_id)
            return i + 1;
    if (used == TRIB_TAGS_MAX)
        return 0;
    frames[used] = *frame;
    return ++used;
}

uint32_t trib_tag_intern(const char *name) {
    char text[TRIB_JAVA_NAME_BYTES];
    struct trib_frame frame;

    snprintf(text, sizeof text, "java:#%s", name); /* no class has a name that begins so */
    (void)trib_signature_named_frame(text, &frame);
    pthread_mutex_lock(&interning);
    uint32_t number = find_or_add(&frame);
    pthread_mutex_unlock(&interning);
    return number;
}

struct trib_frame trib_tag_frame(uint32_t number) {
    return frames[number - 1];
}
