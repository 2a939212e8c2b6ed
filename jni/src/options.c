/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULTS                                                                                                       \
    (struct trib_jvm_options) {                                                                                        \
        .fast = true, .innermost = 1, .outermost = 6                                                                   \
    }

enum taken { TAKEN, WRONG, FOREIGN };

static bool take_choice(const char *value, const char *yes, const char *no, bool *out) {
    bool is_yes = strcmp(value, yes) == 0;

    if (!is_yes && strcmp(value, no) != 0)
        return false;
    *out = is_yes;
    return true;
}

static bool take_frames(const char *value, unsigned *out) {
    char *end;
    unsigned long frames = strtoul(value, &end, 10);

    if (end == value || *end || *value == '-' || frames > TRIB_JVM_ENDS_MAX)
        return false;
    *out = (unsigned)frames;
    return true;
}

static enum taken take(const char *key, const char *value, struct trib_jvm_options *out) {
    bool fits = true;

    if (strcmp(key, "path") == 0)
        fits = take_choice(value, "full", "ends", &out->full);
    else if (strcmp(key, "fast") == 0)
        fits = (out->check = strcmp(value, "check") == 0) || take_choice(value, "on", "off", &out->fast);
    else if (strcmp(key, "strict") == 0)
        fits = take_choice(value, "1", "0", &out->strict);
    else if (strcmp(key, "innermost") == 0)
        fits = take_frames(value, &out->innermost);
    else if (strcmp(key, "outermost") == 0)
        fits = take_frames(value, &out->outermost);
    else if (strcmp(key, "file") == 0)
        fits = snprintf(out->file, sizeof out->file, "%s", value) < (int)sizeof out->file;
    else
        return FOREIGN;
    return fits ? TAKEN : WRONG;
}

static bool take_command(const char *word, struct trib_jvm_options *out) {
    static const char *const words[] = {"start", "status", "dump", "stop"};

    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            out->command = (enum trib_jvm_command)i;
            return true;
        }
    return false;
}

/* The pipeline reads them, and says what is wrong with them. */
static bool pass_on(const char *pair, struct trib_jvm_options *out) {
    size_t used = strlen(out->pipeline), room = sizeof out->pipeline - used;

    return snprintf(out->pipeline + used, room, "%s%s", used ? "," : "", pair) < (int)room;
}

static int refuse(struct trib_error *error, const char *pair) {
    if (error->text[0] == '\0')
        snprintf(error->text, sizeof error->text,
                 "\"%.60s\" is none of start, status, dump, stop, path=ends|full, innermost=0..32, outermost=0..32, "
                 "fast=on|off|check, strict=0|1, file=PATH, nor key=value of a pipeline",
                 pair);
    return -EINVAL;
}

int trib_jvm_options_parse(const char *text, struct trib_jvm_options *out, struct trib_error *error) {
    char copy[4096], pair_text[sizeof copy], *rest = copy;
    int rc = 0;

    *out = DEFAULTS;
    error->text[0] = '\0';
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return refuse(error, "(longer than 4095 characters)");
    for (char *pair; (pair = strsep(&rest, ","));) {
        memcpy(pair_text, pair, strlen(pair) + 1);
        char *value = strchr(pair, '=');
        if (!*pair || (!value && take_command(pair, out)))
            continue;
        if (value)
            *value++ = '\0';
        enum taken taken = value ? take(pair, value, out) : WRONG;
        if (taken == WRONG || (taken == FOREIGN && !pass_on(pair_text, out)))
            rc = refuse(error, pair_text);
    }
    if (!rc && !out->full && out->innermost + out->outermost == 0)
        rc = refuse(error, "innermost=0,outermost=0");
    return rc;
}
