/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/switched.h"

enum fast { FAST_OFF, FAST_ON, FAST_CHECK };

struct fields {
    int path, fast;
    uint32_t innermost, outermost;
    bool strict;
    char file[TRIB_OPTION_TEXT_MAX];
};
#define FIELD(name) offsetof(struct fields, name)

const struct trib_option_spec trib_jvm_option_specs[] = {
    {.key = "path",
     .fallback = "ends",
     .choices = "ends|full",
     .help = "which application frames count: the innermost and outermost ones, or all",
     .offset = FIELD(path),
     .type = TRIB_OPTION_ENUM},
    {.key = "innermost",
     .fallback = "1",
     .help = "application frames at the write's end (path=ends)",
     .maximum = TRIB_JVM_ENDS_MAX,
     .offset = FIELD(innermost),
     .type = TRIB_OPTION_U32},
    {.key = "outermost",
     .fallback = "6",
     .help = "application frames at the thread's end (path=ends)",
     .maximum = TRIB_JVM_ENDS_MAX,
     .offset = FIELD(outermost),
     .type = TRIB_OPTION_U32},
    {.key = "fast",
     .fallback = "on",
     .choices = "off|on|check",
     .help = "frame pointers where the JVM keeps them; check: and JVMTI all the same",
     .offset = FIELD(fast),
     .type = TRIB_OPTION_ENUM},
    {.key = "strict",
     .fallback = "off",
     .help = "what is wrong ends the JVM",
     .offset = FIELD(strict),
     .type = TRIB_OPTION_BOOL},
    {.key = "file",
     .fallback = "",
     .help = "where status and dump go; empty: standard error",
     .offset = FIELD(file),
     .type = TRIB_OPTION_TEXT},
    TRIB_OPTIONS_END,
};

/* A word that is a command, alone between commas, is taken out of the text; the last one counts. */
static void take_commands(char *text, enum trib_jvm_command *command) {
    char *to = text;

    for (const char *from = text; *from;) {
        size_t length = strcspn(from, ",");
        int found = trib_choice_index("start|status|dump|stop", from, length);
        if (found >= 0)
            *command = (enum trib_jvm_command)found;
        else
            to = (char *)memmove(to, from, length) + length;
        from += length;
        if (*from)
            *to++ = *from++;
    }
    *to = '\0';
}

static int take(const char *text, struct trib_jvm_options *out, struct trib_error *error) {
    struct trib_options *options = NULL;
    struct fields fields = {.path = 0};
    int code = trib_options_open(&options, text, error);

    if (code)
        return code;
    code = trib_options_take(options, trib_jvm_option_specs, &fields, error);
    if (!code)
        code = trib_options_rest(options, out->pipeline, sizeof out->pipeline, error);
    trib_options_close(options);
    if (!code && fields.path == 0 && fields.innermost + fields.outermost == 0)
        code = trib_fail(error, -EINVAL, "options 'innermost' and 'outermost': one of them must be above 0");
    if (code)
        return code;
    out->full = fields.path == 1;
    out->fast = fields.fast != FAST_OFF;
    out->check = fields.fast == FAST_CHECK;
    out->innermost = fields.innermost;
    out->outermost = fields.outermost;
    memcpy(out->file, fields.file, sizeof out->file);
    return 0;
}

int trib_jvm_options_parse(const char *text, struct trib_jvm_options *out, struct trib_error *error) {
    struct trib_jvm_options parsed = {.command = TRIB_JVM_START};
    char *copy = strdup(text);
    int code;

    *out = (struct trib_jvm_options){
        .fast = true, .innermost = 1, .outermost = 6, .strict = trib_options_is_on(text, "strict")};
    error->text[0] = '\0';
    if (!copy)
        return trib_fail(error, -ENOMEM, "out of memory");
    take_commands(copy, &parsed.command);
    code = take(copy, &parsed, error);
    free(copy);
    if (code)
        return code;
    parsed.strict = out->strict;
    *out = parsed;
    return 0;
}
