/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/texts.h"

#include <errno.h>
#include <string.h>

/* Searched from the newest: a process sends its modules right before it uses them. */
static uint32_t number_of_module(struct trib_texts *texts, uint64_t key) {
    for (uint32_t i = texts->module_count; i > 0; i--)
        if (texts->modules[i - 1] == key)
            return i - 1;
    if (texts->module_count == TRIB_TEXTS_MODULES)
        return TRIB_TEXTS_MODULES - 1;
    texts->modules[texts->module_count] = key;
    return texts->module_count++;
}

static int take_module(struct trib_texts *texts, const struct trib_text_head *head, const uint8_t *body,
                       const struct trib_texts_sink *sink) {
    struct trib_module module;

    if (head->body_bytes != sizeof module)
        return -EBADMSG;
    memcpy(&module, body, sizeof module);
    module.path[sizeof module.path - 1] = '\0';
    if (module.build_id_bytes > sizeof module.build_id || trib_text_module_key(&module) != head->id)
        return -EBADMSG;
    uint32_t index = number_of_module(texts, head->id);
    if (!texts->module_seen[index])
        sink->module(sink->arg, index, &module);
    texts->module_seen[index] = true;
    return 1;
}

static int take_signature(struct trib_texts *texts, const struct trib_text_head *head, const uint8_t *body,
                          const struct trib_texts_sink *sink) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    struct trib_text_frame sent;
    uint32_t count = head->body_bytes / sizeof sent;
    int whole = 1;

    if (head->body_bytes % sizeof sent != 0 || count > TRIB_SIGNATURE_DEPTH_MAX || head->id == TRIB_SIGNATURE_UNKNOWN)
        return -EBADMSG;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&sent, body + i * sizeof sent, sizeof sent);
        frames[i] = (struct trib_frame){.build_id = sent.build_id,
                                        .offset_bytes = sent.offset_bytes,
                                        .module = number_of_module(texts, sent.module_key)};
        whole = whole && texts->module_seen[frames[i].module];
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

int trib_texts_take(struct trib_texts *texts, const struct trib_text_head *head, const uint8_t *body,
                    const struct trib_texts_sink *sink) {
    switch (head->kind) {
    case TRIB_TEXT_NAME:
    case TRIB_TEXT_UNCOVERED:
        return take_path(head, body, sink);
    case TRIB_TEXT_MODULE:
        return take_module(texts, head, body, sink);
    case TRIB_TEXT_SIGNATURE:
        return take_signature(texts, head, body, sink);
    default:
        return -EBADMSG;
    }
}
