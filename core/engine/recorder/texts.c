/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/texts.h"

#include <string.h>

/* Searched from the newest: a process tells of its modules right before it uses them. */
static uint32_t number_of_module(struct trib_texts *told, uint64_t key) {
    for (uint32_t i = told->module_count; i > 0; i--)
        if (told->modules[i - 1] == key)
            return i - 1;
    if (told->module_count == TRIB_TEXTS_MODULES)
        return TRIB_TEXTS_MODULES - 1;
    told->modules[told->module_count] = key;
    return told->module_count++;
}

static bool take_module(struct trib_texts *told, uint64_t key, const uint8_t *body,
                        const struct trib_session_sink *sink) {
    struct trib_module module;

    memcpy(&module, body, sizeof module);
    module.path[sizeof module.path - 1] = '\0';
    if (module.build_id_bytes > sizeof module.build_id || trib_text_module_key(&module) != key)
        return false;
    uint32_t index = number_of_module(told, key);
    if (!told->module_seen[index])
        sink->module(sink->arg, index, &module);
    told->module_seen[index] = true;
    return true;
}

static void take_signature(struct trib_texts *told, const struct trib_text_head *head, const uint8_t *body,
                           const struct trib_session_sink *sink) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    struct trib_text_frame sent;
    uint32_t count = head->body_bytes / sizeof sent;

    for (uint32_t i = 0; i < count; i++) {
        memcpy(&sent, body + i * sizeof sent, sizeof sent);
        frames[i] = (struct trib_frame){.build_id = sent.build_id,
                                        .offset_bytes = sent.offset_bytes,
                                        .module = number_of_module(told, sent.module_key)};
    }
    sink->signature(sink->arg, head->id, frames, count);
}

bool trib_texts_take(struct trib_texts *told, const struct trib_text_head *head, const uint8_t *body,
                    const struct trib_session_sink *sink) {
    char path[TRIB_TEXT_PATH_BYTES_MAX + 1];
    bool is_path = head->kind == TRIB_TEXT_NAME || head->kind == TRIB_TEXT_PROGRAM || head->kind == TRIB_TEXT_UNCOVERED;

    if (is_path && head->body_bytes > TRIB_TEXT_PATH_BYTES_MAX)
        return false;
    if (is_path) {
        memcpy(path, body, head->body_bytes);
        path[head->body_bytes] = '\0';
    }
    switch (head->kind) {
    case TRIB_TEXT_NAME:
        sink->name(sink->arg, head->id, path);
        return true;
    case TRIB_TEXT_PROGRAM:
        if (head->id >= TRIB_SESSION_PROGRAMS)
            return false;
        if (!told->program_seen[head->id])
            sink->program(sink->arg, (uint32_t)head->id, path);
        told->program_seen[head->id] = true;
        return true;
    case TRIB_TEXT_UNCOVERED:
        if (head->id == TRIB_COVERED || head->id >= TRIB_UNCOVERED_COUNT)
            return false;
        sink->uncovered(sink->arg, (enum trib_uncovered)head->id, path);
        return true;
    case TRIB_TEXT_MODULE:
        return head->body_bytes == sizeof(struct trib_module) && take_module(told, head->id, body, sink);
    case TRIB_TEXT_SIGNATURE:
        if (head->body_bytes % sizeof(struct trib_text_frame) != 0 ||
            head->body_bytes > TRIB_SIGNATURE_DEPTH_MAX * sizeof(struct trib_text_frame))
            return false;
        take_signature(told, head, body, sink);
        return true;
    default:
        return false;
    }
}
