/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap/drive_wrap.h"

static int wrap_open(void **self, const struct trib_drive_env *env, struct trib_options *options,
                     struct trib_error *error) {
    /* `outer` is the first member, and ours alone to open. */
    struct trib_drive_wrap *wrap = (struct trib_drive_wrap *)(uintptr_t)env->drive;
    struct trib_drive_env inside = *env;

    inside.drive = wrap->inner;
    int code = wrap->inner->open(&wrap->self, &inside, options, error);
    if (code == 0)
        *self = wrap;
    return code;
}

static int wrap_close(void *self) {
    const struct trib_drive_wrap *wrap = self;
    return wrap->inner->close(wrap->self);
}

static void wrap_describe(void *self, struct trib_drive_description *out) {
    const struct trib_drive_wrap *wrap = self;
    wrap->inner->describe(wrap->self, out);
}

static void wrap_stats(void *self, struct trib_drive_stats *out) {
    const struct trib_drive_wrap *wrap = self;
    wrap->inner->stats(wrap->self, out);
}

static int wrap_stream_stats(void *self, uint16_t stream, bool internal, struct trib_drive_stream_stats *out) {
    const struct trib_drive_wrap *wrap = self;
    return wrap->inner->stream_stats(wrap->self, stream, internal, out);
}

static int wrap_write(void *self, uint64_t lba, uint32_t blocks, uint16_t stream) {
    const struct trib_drive_wrap *wrap = self;

    if (wrap->observer->block_wrote)
        wrap->observer->block_wrote(wrap->observer->arg, lba, blocks, stream);
    return wrap->inner->model->write(wrap->self, lba, blocks, stream);
}

static int wrap_discard(void *self, uint64_t lba, uint64_t blocks) {
    const struct trib_drive_wrap *wrap = self;

    if (wrap->observer->block_discarded)
        wrap->observer->block_discarded(wrap->observer->arg, lba, blocks);
    return wrap->inner->model->discard(wrap->self, lba, blocks);
}

static int wrap_read(void *self, uint64_t lba, uint32_t blocks) {
    const struct trib_drive_wrap *wrap = self;
    return wrap->inner->model->read(wrap->self, lba, blocks);
}

static int wrap_dump(void *self, FILE *out) {
    const struct trib_drive_wrap *wrap = self;
    return wrap->inner->model->dump(wrap->self, out);
}

static void wrap_resize_map_cache(void *self, uint64_t bytes) {
    const struct trib_drive_wrap *wrap = self;
    wrap->inner->model->resize_map_cache(wrap->self, bytes);
}

const struct trib_drive *trib_drive_wrap(struct trib_drive_wrap *wrap, const struct trib_drive *inner,
                                         const struct trib_observer *observer) {
    const struct trib_drive_model *model = inner->model;

    *wrap = (struct trib_drive_wrap){.outer = *inner, .inner = inner, .observer = observer};
    wrap->model = (struct trib_drive_model){.write = wrap_write,
                                            .discard = wrap_discard,
                                            .read = wrap_read,
                                            .dump = model->dump ? wrap_dump : NULL,
                                            .resize_map_cache = model->resize_map_cache ? wrap_resize_map_cache : NULL};
    wrap->outer.open = wrap_open;
    wrap->outer.close = wrap_close;
    wrap->outer.describe = wrap_describe;
    wrap->outer.stats = wrap_stats;
    wrap->outer.stream_stats = inner->stream_stats ? wrap_stream_stats : NULL;
    wrap->outer.model = &wrap->model;
    return &wrap->outer;
}
