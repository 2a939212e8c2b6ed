/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tributary/signature.h>

#define DEFAULTS                                                                                                       \
    (struct trib_buffer_options) {                                                                                     \
        .page_bytes = 16384, .depth = 16, .front = true                                                                \
    }
#define VALID_KEYS "frames=N, page=4K..64K, depth=1..32, front=on|off, report=on|off"

static struct trib_buffer_options chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A number with K, M or G, within [least, most]. */
static bool take_number(const char *text, uint32_t least, uint32_t most, uint32_t *out) {
    static const char units[] = "KMG";
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (unit) {
        number <<= 10 * (unit - units + 1);
        end++;
    }
    if (end == text || *end || *text == '-' || number < least || number > most)
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool take_switch(const char *text, bool *out) {
    bool on = strcmp(text, "on") == 0;

    if (!on && strcmp(text, "off") != 0)
        return false;
    *out = on;
    return true;
}

static bool take(const char *key, const char *value, struct trib_buffer_options *out) {
    if (strcmp(key, "frames") == 0)
        return take_number(value, 1, 1u << 31, &out->frames);
    if (strcmp(key, "page") == 0)
        return take_number(value, 4096, 65536, &out->page_bytes) && (out->page_bytes & (out->page_bytes - 1)) == 0;
    if (strcmp(key, "depth") == 0)
        return take_number(value, 1, TRIB_SIGNATURE_DEPTH_MAX, &out->depth);
    if (strcmp(key, "front") == 0)
        return take_switch(value, &out->front);
    return strcmp(key, "report") == 0 && take_switch(value, &out->report);
}

bool trib_buffer_options_parse(const char *text, struct trib_buffer_options *out, char problem[160]) {
    struct trib_buffer_options taken = *out;
    char copy[256], *rest = copy;

    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy) {
        snprintf(problem, 160, "longer than %zu characters", sizeof copy - 1);
        return false;
    }
    for (char *pair; (pair = strsep(&rest, ","));) {
        char *value = strchr(pair, '=');
        if (!*pair)
            continue;
        if (value)
            *value++ = '\0';
        if (!value || !take(pair, value, &taken)) {
            snprintf(problem, 160, "\"%.40s%s%.20s\" is none of " VALID_KEYS, pair, value ? "=" : "",
                     value ? value : "");
            return false;
        }
    }
    *out = taken;
    return true;
}

static void read_environment(void) {
    const char *text = getenv("TRIBUTARY_BUFFER");
    char problem[160];

    chosen = DEFAULTS;
    if (text && !trib_buffer_options_parse(text, &chosen, problem))
        fprintf(stderr, "tributary: TRIBUTARY_BUFFER: %s; the defaults hold\n", problem);
}

const struct trib_buffer_options *trib_buffer_settings(void) {
    pthread_once(&once, read_environment);
    return &chosen;
}
