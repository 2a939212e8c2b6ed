/* SPDX-License-Identifier: Apache-2.0 */
/* How a component (policy, drive, adapter) takes its part of "key=value,key=value": it declares its keys as a table of
 * specs and takes them into a struct of its own. The same tables are printed by `trib options`. One parser for
 * everybody: what is wrong is said in the same words wherever it was given. Thread safety: one owner. */
#ifndef TRIBUTARY_OPTIONS_H
#define TRIBUTARY_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_OPTION_TEXT_MAX 512

enum trib_option_type {
    TRIB_OPTION_BOOL,    /* bool: 0 1 no yes off on false true */
    TRIB_OPTION_U32,     /* uint32_t */
    TRIB_OPTION_U64,     /* uint64_t */
    TRIB_OPTION_SIZE,    /* uint64_t bytes: 4096, 64K, 16M, 12G, 1T (binary) */
    TRIB_OPTION_DOUBLE,  /* double */
    TRIB_OPTION_PERCENT, /* double: "7" or "7%" is 7.0 */
    TRIB_OPTION_ENUM,    /* int: index into choices, "a|b|c" */
    TRIB_OPTION_FLAGS,   /* uint32_t: bit per choice, "kind+hint"; "none" is 0 */
    TRIB_OPTION_TEXT,    /* char[TRIB_OPTION_TEXT_MAX] */
};

struct trib_option_spec {
    const char *key;
    const char *fallback;    /* default, as text; NULL leaves the field as it is */
    const char *choices;     /* ENUM, FLAGS */
    const char *help;        /* one line: meaning, unit, source */
    double minimum, maximum; /* numbers; both 0 = unbounded */
    size_t offset;           /* of the field in the taking struct */
    enum trib_option_type type;
};

#define TRIB_OPTIONS_END                                                                                               \
    { .key = NULL }

struct trib_options;

/* Writes defaults, then the given values, into `fields`. On error `fields` is untouched. 0 or -EINVAL. */
TRIB_EXPORT int trib_options_take(struct trib_options *options, const struct trib_option_spec *specs, void *fields,
                                  struct trib_error *error);

/* For whoever owns the text, an adapter among them: the grammar (docs/options.md). 0; -EINVAL (empty key, key twice,
 * missing '='); -ENOMEM. text may be NULL or "". At start-up: takes memory. */
TRIB_EXPORT int trib_options_open(struct trib_options **out, const char *text, struct trib_error *error);
TRIB_EXPORT void trib_options_close(struct trib_options *options);

/* -EINVAL if a key was given that nobody took; the sentence lists all keys of the specs taken so far. */
TRIB_EXPORT int trib_options_finish(const struct trib_options *options, struct trib_error *error);

/* What nobody took, "key=value,..." as it was given, for whoever is asked next. 0; -EINVAL (no room). */
TRIB_EXPORT int trib_options_rest(const struct trib_options *options, char *text, size_t capacity,
                                  struct trib_error *error);

/* The sentence of another process about what was left to it lists its keys alone: adds those of `specs`. */
TRIB_EXPORT void trib_options_add_valid(struct trib_error *error, const struct trib_option_spec *specs);

/* Opens, takes and finishes: for whoever has all keys. On error `fields` is untouched. */
TRIB_EXPORT int trib_options_read(const char *text, const struct trib_option_spec *specs, void *fields,
                                  struct trib_error *error);

/* Fills `error` with a formatted sentence (if not NULL) and returns `code`: `return trib_fail(e, -EINVAL, "…")`. */
TRIB_EXPORT int trib_fail(struct trib_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

TRIB_C_END
#endif
