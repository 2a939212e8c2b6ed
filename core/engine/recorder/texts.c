/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/texts.h"

#include <errno.h>
#include <string.h>

/* Beyond a user's share a module is known by no number, and need not be sent again all the same. */
static int take_module(struct trib_texts *texts, const struct trib_text_head *head, const uint8_t *body, uid_t user,
                       const struct trib_texts_sink *sink) {
    struct trib_module module;

    if (head->body_bytes != sizeof module)
        return -EBADMSG;
    memcpy(&module, body, sizeof module);
    module.path[sizeof module.path - 1] = '\0';
    if (module.build_id_bytes > sizeof module.build_id || trib_text_module_key(&module) != head->id)
        return -EBADMSG;
    uint32_t before = texts->modules.count, index = trib_numbers_add(&texts->modules, head->id, user);
    if (texts->modules.count > before)
        sink->module(sink->arg, index, &module);
    return 1;
}

static int take_signature(struct trib_texts *texts, const struct trib_text_head *head, const uint8_t *body, uid_t user,
                          const struct trib_texts_sink *sink) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    struct trib_text_frame sent;
    uint32_t count = head->body_bytes / sizeof sent;
    bool may_come = trib_numbers_has_room(&texts->modules, user);
    int whole = 1;

    if (head->body_bytes % sizeof sent != 0 || count > TRIB_SIGNATURE_DEPTH_MAX || head->id == TRIB_SIGNATURE_UNKNOWN)
        return -EBADMSG;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&sent, body + i * sizeof sent, sizeof sent);
        uint32_t module = trib_numbers_find(&texts->modules, sent.module_key);
        if (module == TRIB_TEXTS_UNKNOWN && may_come) {
            module = TRIB_TEXTS_UNSENT;
            whole = 0;
        }
        frames[i] = (struct trib_frame){.build_id = sent.build_id, .offset_bytes = sent.offset_bytes, .module = module};
    }
    sink->signature(sink->arg, head->id, frames, count);
    return whole;
}

static int take_path(const struct trib_text_head *head, const uint8_t *body, const struct trib_texts_sink *sink) {
    char path[TRIB_TEXT_PATH_BYTES_MAX + 1];

    if (head->body_bytes > TRIB_TEXT_PATH_BYTES_MAX)
        return -EBADMSG;
    memcpy(path, body, head->body_bytes);
    path[head->body_bytes] = '\0';
    if (head->kind == TRIB_TEXT_NAME)
        sink->name(sink->arg, head->id, path);
    else if (head->id == TRIB_COVERED || head->id >= TRIB_UNCOVERED_COUNT)
        return -EBADMSG;
    else
        sink->uncovered(sink->arg, (enum trib_uncovered)head->id, path);
    return 0;
}

int trib_texts_take(struct trib_texts *texts, const struct trib_text_head *head, const uint8_t *body, uid_t user,
                    const struct trib_texts_sink *sink) {
    switch (head->kind) {
    case TRIB_TEXT_NAME:
    case TRIB_TEXT_UNCOVERED:
        return take_path(head, body, sink);
    case TRIB_TEXT_MODULE:
        return take_module(texts, head, body, user, sink);
    case TRIB_TEXT_SIGNATURE:
        return take_signature(texts, head, body, user, sink);
    default:
        return -EBADMSG;
    }
}
