/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that rules.h lists. */
#include "flash/rules.h"

#include <string.h>

const struct trib_gc_rule trib_gc_rules[TRIB_GC_COUNT] = {
#define ROW(id, text, streams, sentence)                                                                               \
    [TRIB_GC_##id] = {.name = (text), .meaning = (sentence), .internal = TRIB_GC_##streams},
    TRIB_GC_DESTINATIONS(ROW)
#undef ROW
};

const struct trib_victim_rule trib_victim_rules[TRIB_VICTIM_COUNT] = {
#define ROW(id, text, sentence) [TRIB_VICTIM_##id] = {.name = (text), .meaning = (sentence)},
    TRIB_VICTIMS(ROW)
#undef ROW
};

int trib_gc_find(const char *name, int otherwise) {
    for (int i = 0; i < TRIB_GC_COUNT; i++)
        if (!strcmp(trib_gc_rules[i].name, name))
            return i;
    return otherwise;
}

int trib_victim_find(const char *name, int otherwise) {
    for (int i = 0; i < TRIB_VICTIM_COUNT; i++)
        if (!strcmp(trib_victim_rules[i].name, name))
            return i;
    return otherwise;
}
