/* SPDX-License-Identifier: Apache-2.0 */
#include "named.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "modules.h"

#define PREFIX "java:"

int trib_signature_named_frame(const char *name, struct trib_frame *out) {
    struct trib_module module = {.build_id_hash = trib_hash(name, strlen(name))};
    size_t shown = strcspn(name, "(");
    uint32_t index = TRIB_MODULES_KNOWN_MAX; /* nobody's */

    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return -EINVAL;
    memcpy(module.path, name, shown < sizeof module.path ? shown : sizeof module.path - 1);
    int rc = trib_modules_name(&module, &index);
    *out = (struct trib_frame){.build_id = module.build_id_hash, .module = index};
    return rc;
}

const char *trib_named_text(const struct trib_module *module) {
    bool is_named = !module->build_id_bytes && strncmp(module->path, PREFIX, sizeof PREFIX - 1) == 0;

    return is_named ? module->path + sizeof PREFIX - 1 : NULL;
}

static void add(char *text, size_t capacity, size_t *used, char c) {
    if (*used + 1 < capacity)
        text[*used] = c;
    (*used)++;
}

static void add_text(char *text, size_t capacity, size_t *used, const char *more) {
    for (; *more; more++)
        add(text, capacity, used, *more);
}

size_t trib_signature_frame_text(const struct trib_module *module, uint64_t offset_bytes, char *text, size_t capacity) {
    const char *named = trib_named_text(module), *slash = strrchr(module->path, '/');
    size_t used = 0;

    add_text(text, capacity, &used, named ? named : slash ? slash + 1 : module->path);
    if (!named) {
        int digit = 15;
        add_text(text, capacity, &used, "+0x");
        while (digit > 0 && !(offset_bytes >> (digit * 4) & 15))
            digit--;
        for (; digit >= 0; digit--)
            add(text, capacity, &used, "0123456789abcdef"[offset_bytes >> (digit * 4) & 15]);
    }
    if (capacity)
        text[used < capacity ? used : capacity - 1] = '\0';
    return used;
}
