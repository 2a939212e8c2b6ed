/* SPDX-License-Identifier: Apache-2.0 */
/* The option grammar against any text: parse, take with a table of every type and the pipeline's own, finish. Whatever
 * comes in, a refusal leaves the fields as they were and says why. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

struct fields {
    bool flag;
    uint32_t count;
    uint64_t number, size;
    double ratio, percent;
    int choice;
    uint32_t flags;
    char text[TRIB_OPTION_TEXT_MAX];
};

#define FIELD(name) offsetof(struct fields, name)

static const struct trib_option_spec specs[] = {
    {.key = "flag", .fallback = "off", .type = TRIB_OPTION_BOOL, .offset = FIELD(flag)},
    {.key = "count", .type = TRIB_OPTION_U32, .offset = FIELD(count), .maximum = 1000},
    {.key = "number", .type = TRIB_OPTION_U64, .offset = FIELD(number)},
    {.key = "size", .fallback = "4K", .type = TRIB_OPTION_SIZE, .offset = FIELD(size)},
    {.key = "ratio", .type = TRIB_OPTION_DOUBLE, .offset = FIELD(ratio), .minimum = -1, .maximum = 1},
    {.key = "op", .type = TRIB_OPTION_PERCENT, .offset = FIELD(percent), .maximum = 100},
    {.key = "gc", .type = TRIB_OPTION_ENUM, .offset = FIELD(choice), .choices = "same|shared|twin"},
    {.key = "salt", .type = TRIB_OPTION_FLAGS, .offset = FIELD(flags), .choices = "kind|hint|level"},
    {.key = "path", .type = TRIB_OPTION_TEXT, .offset = FIELD(text)},
    TRIB_OPTIONS_END,
};

static void check_fields(const struct fields *fields) {
    assert(fields->count <= 1000);
    assert(fields->ratio >= -1 && fields->ratio <= 1);
    assert(fields->percent >= 0 && fields->percent <= 100);
    assert(fields->choice >= 0 && fields->choice < 3);
    assert(fields->flags < 8);
    assert(memchr(fields->text, 0, sizeof fields->text));
}

static void take_all(const char *text) {
    struct fields fields, before;
    struct trib_pipeline_settings settings;
    struct trib_options *options = NULL;
    struct trib_error error = {""};

    memset(&fields, 0, sizeof fields);
    before = fields;
    if (trib_options_open(&options, text, &error)) {
        assert(error.text[0]);
        return;
    }
    if (trib_options_take(options, specs, &fields, &error) == 0) {
        check_fields(&fields);
        if (trib_options_take(options, trib_pipeline_options, &settings, &error) == 0 &&
            trib_options_finish(options, &error))
            assert(error.text[0]);
    } else {
        assert(error.text[0]);
        assert(memcmp(&fields, &before, sizeof fields) == 0);
    }
    trib_options_close(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    take_all(text);
    free(text);
    return 0;
}
