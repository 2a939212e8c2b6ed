/* SPDX-License-Identifier: Apache-2.0 */
/* Stream numbers for survivors, taken from those that the host may name (HotStorage'18). From the
 * top, because policies name streams from the bottom. */
#include "flash/internal.h"

static bool may_have_one(const struct trib_flash *f, uint32_t class, uint32_t valid) {
    const struct flash_stream *s = &f->streams[class];
    if (s->substream)
        return false;
    if (f->config.gc == TRIB_GC_CHAIN)
        return true;
    return class != 0 && !s->is_substream && valid > f->config.substream_pages;
}

void flash_substream_consider(struct trib_flash *f, uint32_t class, uint32_t valid) {
    if (!may_have_one(f, class, valid))
        return;
    for (uint32_t c = f->external_streams - 1; c > 0; c--) {
        struct flash_stream *s = &f->streams[c];
        if (s->is_named || s->is_substream)
            continue;
        s->is_substream = true;
        s->group = f->streams[class].group;
        f->streams[class].substream = (uint16_t)c;
        return;
    }
}

uint32_t flash_substream_name(struct trib_flash *f, uint16_t stream, uint32_t pages) {
    struct flash_stream *s = &f->streams[stream];
    if (s->is_substream) {
        f->counters.remapped_writes += pages;
        return 0;
    }
    s->is_named = true;
    return stream;
}
