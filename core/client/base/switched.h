/* SPDX-License-Identifier: Apache-2.0 */
/* What of the grammar of options needs no parser: one of "a|b|c", on or off, and whether a text switches a key on. For
 * those who link nothing, too. Pure functions. */
#ifndef TRIB_BASE_SWITCHED_H
#define TRIB_BASE_SWITCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Index of value[0..length) in "a|b|c", or -1. */
static inline int trib_choice_index(const char *choices, const char *value, size_t length) {
    int index = 0;

    for (const char *choice = choices; *choice; index++) {
        size_t size = strcspn(choice, "|");
        if (size == length && strncmp(choice, value, length) == 0)
            return index;
        choice += size + (choice[size] == '|');
    }
    return -1;
}

/* Odd: on; even: off; -1: neither. */
static inline int trib_switch_index(const char *value, size_t length) {
    return trib_choice_index("0|1|no|yes|off|on|false|true", value, length);
}

/* Even where the text is wrong elsewhere: what is to happen then may depend on it. A ':' counts as '='. */
static inline bool trib_options_is_on(const char *text, const char *key) {
    size_t length = strlen(key);

    for (const char *at = text; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, key, length) != 0 || (at[length] != '=' && at[length] != ':'))
            continue;
        int index = trib_switch_index(at + length + 1, strcspn(at + length + 1, ","));
        if (index >= 0 && index % 2 == 1)
            return true;
    }
    return false;
}

#endif
