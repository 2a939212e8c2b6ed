/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/switched.h"

#define PAIRS_MAX 64
#define TAKEN_MAX 16

struct pair {
    char *key, *value;
    bool taken;
};

struct trib_options {
    char *text; /* the pairs point into it */
    struct pair pairs[PAIRS_MAX];
    unsigned pair_count;
    const struct trib_option_spec *taken[TAKEN_MAX]; /* for the list of valid keys */
    unsigned taken_count;
};

int trib_fail(struct trib_error *error, int code, const char *format, ...) {
    if (error) {
        va_list arguments;

        va_start(arguments, format);
        // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return code;
}

static struct pair *find_pair(struct trib_options *options, const char *key) {
    for (unsigned i = 0; i < options->pair_count; i++)
        if (strcmp(options->pairs[i].key, key) == 0)
            return &options->pairs[i];
    return NULL;
}

static int add_pair(struct trib_options *options, char *text, struct trib_error *error) {
    char *equals = strchr(text, '=');

    if (!equals || equals == text)
        return trib_fail(error, -EINVAL, "option '%s': expected key=value", text);
    *equals = '\0';
    if (find_pair(options, text))
        return trib_fail(error, -EINVAL, "option '%s' is given twice", text);
    if (options->pair_count == PAIRS_MAX)
        return trib_fail(error, -EINVAL, "more than %d options", PAIRS_MAX);
    options->pairs[options->pair_count++] = (struct pair){.key = text, .value = equals + 1};
    return 0;
}

int trib_options_open(struct trib_options **out, const char *text, struct trib_error *error) {
    struct trib_options *options = calloc(1, sizeof *options);
    int rc = 0;

    if (!options || !(options->text = strdup(text ? text : ""))) {
        free(options);
        return trib_fail(error, -ENOMEM, "out of memory");
    }
    for (char *next = options->text, *pair; !rc && (pair = strsep(&next, ","));)
        if (*pair)
            rc = add_pair(options, pair, error);
    if (rc)
        trib_options_close(options);
    else
        *out = options;
    return rc;
}

void trib_options_close(struct trib_options *options) {
    if (options)
        free(options->text);
    free(options);
}

/* ---- values ---- */

static int bad_value(const struct trib_option_spec *spec, const char *value, const char *expected,
                     struct trib_error *error) {
    return trib_fail(error, -EINVAL, "option '%s': '%s' is not valid; expected %s", spec->key, value, expected);
}

struct bound {
    char text[32];
};

/* As it would be given: 1M, not 1048576. */
static struct bound bound_of(const struct trib_option_spec *spec, double number) {
    struct bound bound;
    unsigned unit = 0;

    while (spec->type == TRIB_OPTION_SIZE && unit < 4 && number >= 1024 && (uint64_t)number % 1024 == 0) {
        number /= 1024;
        unit++;
    }
    snprintf(bound.text, sizeof bound.text, "%.15g%.1s", number, &"\0KMGT"[unit]);
    return bound;
}

static int check_range(const struct trib_option_spec *spec, const char *value, double number,
                       struct trib_error *error) {
    bool bounded = spec->minimum != 0 || spec->maximum != 0;

    if (bounded && !(number >= spec->minimum && number <= spec->maximum))
        return trib_fail(error, -EINVAL, "option '%s': %s is outside %s..%s", spec->key, value,
                         bound_of(spec, spec->minimum).text, bound_of(spec, spec->maximum).text);
    return 0;
}

static int parse_double(const struct trib_option_spec *spec, const char *value, double *out, struct trib_error *error) {
    char *end;
    double number = strtod(value, &end);

    if (isspace((unsigned char)*value) || *value == '+') /* strtod takes them */
        end = (char *)value;
    if (spec->type == TRIB_OPTION_PERCENT && end != value && *end == '%')
        end++;
    if (end == value || *end || !isfinite(number))
        return bad_value(spec, value, spec->type == TRIB_OPTION_PERCENT ? "a percentage" : "a number", error);
    *out = number;
    return check_range(spec, value, number, error);
}

static int parse_integer(const struct trib_option_spec *spec, const char *value, uint64_t *out,
                         struct trib_error *error) {
    static const char suffixes[] = "KMGTP";
    const char *expected = spec->type == TRIB_OPTION_SIZE ? "a size such as 4096, 64K, 16M, 12G" : "a whole number";
    char *end;
    unsigned shift = 0;

    errno = 0;
    uint64_t number = strtoull(value, &end, 10);
    if (errno || !isdigit((unsigned char)*value)) /* strtoull takes signs and blanks */
        return bad_value(spec, value, expected, error);
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    if (spec->type == TRIB_OPTION_SIZE && suffix) {
        shift = 10 * (unsigned)(suffix - suffixes + 1);
        end++;
    }
    if (*end || (number << shift) >> shift != number)
        return bad_value(spec, value, expected, error);
    *out = number << shift;
    return check_range(spec, value, (double)*out, error);
}

static int parse_flags(const struct trib_option_spec *spec, const char *value, uint32_t *out,
                       struct trib_error *error) {
    uint32_t flags = 0;

    for (const char *item = value; *item && strcmp(value, "none") != 0;) {
        size_t size = strcspn(item, "+");
        int index = trib_choice_index(spec->choices, item, size);
        if (index < 0)
            return trib_fail(error, -EINVAL, "option '%s': '%.*s' is not one of %s (or none)", spec->key, (int)size,
                             item, spec->choices);
        flags |= 1u << index;
        item += size + (item[size] == '+');
    }
    *out = flags;
    return 0;
}

static int parse_bool(const struct trib_option_spec *spec, const char *value, bool *out, struct trib_error *error) {
    int index = trib_switch_index(value, strlen(value));

    if (index < 0)
        return bad_value(spec, value, "on or off", error);
    *out = index & 1;
    return 0;
}

/* One value; with fields == NULL it is only checked. */
static int store(const struct trib_option_spec *spec, const char *value, void *fields, struct trib_error *error) {
    union {
        bool boolean;
        uint64_t integer;
        uint32_t integer32;
        double number;
        int index;
    } parsed = {0};
    size_t size = 0;
    int rc = 0;

    switch (spec->type) {
    case TRIB_OPTION_BOOL:
        rc = parse_bool(spec, value, &parsed.boolean, error);
        size = sizeof parsed.boolean;
        break;
    case TRIB_OPTION_U32:
        rc = parse_integer(spec, value, &parsed.integer, error);
        if (!rc && parsed.integer > UINT32_MAX)
            rc = bad_value(spec, value, "a number below 2^32", error);
        parsed.integer32 = (uint32_t)parsed.integer;
        size = sizeof parsed.integer32;
        break;
    case TRIB_OPTION_U64:
    case TRIB_OPTION_SIZE:
        rc = parse_integer(spec, value, &parsed.integer, error);
        size = sizeof parsed.integer;
        break;
    case TRIB_OPTION_DOUBLE:
    case TRIB_OPTION_PERCENT:
        rc = parse_double(spec, value, &parsed.number, error);
        size = sizeof parsed.number;
        break;
    case TRIB_OPTION_ENUM:
        parsed.index = trib_choice_index(spec->choices, value, strlen(value));
        if (parsed.index < 0)
            rc = trib_fail(error, -EINVAL, "option '%s': '%s' is not one of %s", spec->key, value, spec->choices);
        size = sizeof parsed.index;
        break;
    case TRIB_OPTION_FLAGS:
        rc = parse_flags(spec, value, &parsed.integer32, error);
        size = sizeof parsed.integer32;
        break;
    case TRIB_OPTION_TEXT:
        if (strlen(value) >= TRIB_OPTION_TEXT_MAX)
            return trib_fail(error, -EINVAL, "option '%s': longer than %d characters", spec->key,
                             TRIB_OPTION_TEXT_MAX - 1);
        if (fields)
            strcpy((char *)fields + spec->offset, value);
        return 0;
    }
    if (!rc && fields)
        memcpy((char *)fields + spec->offset, &parsed, size);
    return rc;
}

static int check(struct trib_options *options, const struct trib_option_spec *specs, struct trib_error *error) {
    int code = 0;

    for (const struct trib_option_spec *spec = specs; spec->key && !code; spec++) {
        struct pair *pair = find_pair(options, spec->key);
        code = pair ? store(spec, pair->value, NULL, error) : 0;
    }
    return code;
}

static void mark_taken(struct trib_options *options, const struct trib_option_spec *specs) {
    for (const struct trib_option_spec *spec = specs; spec->key; spec++) {
        struct pair *pair = find_pair(options, spec->key);
        if (pair)
            pair->taken = true;
    }
    if (options->taken_count < TAKEN_MAX)
        options->taken[options->taken_count++] = specs;
}

int trib_options_take(struct trib_options *options, const struct trib_option_spec *specs, void *fields,
                      struct trib_error *error) {
    if (!specs)
        return 0;
    int code = check(options, specs, error); /* first, so that an error leaves `fields` as it was */
    for (const struct trib_option_spec *spec = specs; spec->key && !code; spec++) {
        struct pair *pair = find_pair(options, spec->key);
        const char *value = pair ? pair->value : spec->fallback;
        code = value ? store(spec, value, fields, error) : 0;
    }
    if (!code)
        mark_taken(options, specs);
    return code;
}

#define UNKNOWN     "unknown option '"
#define VALID_HERE  "; valid here:"
#define VALID_BYTES 440 /* of the list */
#define CUT         " ..."

/* What is left out of a list shows at its end; no word of it is cut. */
static void cut_at_word(char *text, size_t capacity) {
    size_t end = capacity - sizeof CUT;

    while (end > 0 && text[end] != ' ')
        end--;
    memcpy(text + end, CUT, sizeof CUT);
}

static void list_keys(const struct trib_option_spec *specs, char *text, size_t capacity) {
    size_t used = strlen(text);

    if (used >= sizeof CUT && strcmp(text + used + 1 - sizeof CUT, CUT) == 0)
        return;
    for (const struct trib_option_spec *spec = specs; spec->key && used < capacity; spec++)
        used += (size_t)snprintf(text + used, capacity - used, " %s", spec->key);
    if (used >= capacity)
        cut_at_word(text, capacity);
}

static const char *nearest_key(const struct trib_option_spec *specs, const char *typed, const char *best) {
    for (const struct trib_option_spec *spec = specs; spec->key; spec++)
        if (trib_is_near(typed, spec->key) && (!best || trib_edits(typed, spec->key) < trib_edits(typed, best)))
            best = spec->key;
    return best;
}

int trib_options_finish(const struct trib_options *options, struct trib_error *error) {
    const struct pair *left = NULL;
    const char *meant = NULL;
    char valid[VALID_BYTES + 1] = "";

    for (unsigned i = 0; i < options->pair_count && !left; i++)
        if (!options->pairs[i].taken)
            left = &options->pairs[i];
    if (!left)
        return 0;
    for (unsigned i = 0; i < options->taken_count; i++) {
        meant = nearest_key(options->taken[i], left->key, meant);
        list_keys(options->taken[i], valid, sizeof valid);
    }
    return trib_fail(error, -EINVAL, UNKNOWN "%s'%s%s%s" VALID_HERE "%s", left->key, meant ? " (did you mean " : "",
                     meant ? meant : "", meant ? "?)" : "", valid);
}

void trib_options_add_valid(struct trib_error *error, const struct trib_option_spec *specs) {
    const char *list = strstr(error->text, VALID_HERE);
    char before[sizeof error->text], rest[sizeof error->text], own[VALID_BYTES + 1] = "";

    if (!list || strncmp(error->text, UNKNOWN, sizeof UNKNOWN - 1) != 0)
        return;
    snprintf(before, sizeof before, "%s", error->text + sizeof UNKNOWN - 1);
    before[strcspn(before, "'")] = '\0'; /* the key */
    const char *meant = strchr(error->text, '(') ? NULL : nearest_key(specs, before, NULL);
    snprintf(before, sizeof before, "%.*s", (int)(list - error->text), error->text);
    snprintf(rest, sizeof rest, "%s", list + sizeof VALID_HERE - 1);
    list_keys(specs, own, sizeof own);
    int bytes = snprintf(error->text, sizeof error->text, "%s%s%s%s" VALID_HERE "%s%s", before,
                         meant ? " (did you mean " : "", meant ? meant : "", meant ? "?)" : "", own, rest);
    if ((size_t)bytes >= sizeof error->text)
        cut_at_word(error->text, sizeof error->text);
}

int trib_options_rest(const struct trib_options *options, char *text, size_t capacity, struct trib_error *error) {
    size_t used = 0;

    *text = '\0';
    for (unsigned i = 0; i < options->pair_count && used < capacity; i++)
        if (!options->pairs[i].taken)
            used += (size_t)snprintf(text + used, capacity - used, "%s%s=%s", used ? "," : "", options->pairs[i].key,
                                     options->pairs[i].value);
    return used < capacity ? 0 : trib_fail(error, -EINVAL, "options longer than %zu characters", capacity - 1);
}

int trib_options_read(const char *text, const struct trib_option_spec *specs, void *fields, struct trib_error *error) {
    struct trib_options *options = NULL;
    int code = trib_options_open(&options, text, error);

    if (code || !options)
        return code;
    code = check(options, specs, error);
    if (!code) {
        mark_taken(options, specs);
        code = trib_options_finish(options, error);
    }
    if (!code)
        code = trib_options_take(options, specs, fields, error);
    trib_options_close(options);
    return code;
}
