/* SPDX-License-Identifier: Apache-2.0 */
/* Packs that must be refused; FAULT says what is wrong with this one. */
#include <stddef.h>

#include <tributary/policy.h>

static const struct trib_option_spec options[] = {TRIB_OPTIONS_END};

static int open_policy(void **self, const struct trib_policy_env *env, struct trib_options *given,
                       struct trib_error *error) {
    (void)env;
    *self = NULL;
    return trib_options_take(given, options, NULL, error);
}

static void close_policy(void *self) {
    (void)self;
}

static uint16_t place(void *self, const struct trib_placement *write) {
    (void)self;
    (void)write;
    return 0;
}

#define POLICY(text)                                                                                                   \
    {                                                                                                                  \
        .name = (text), .summary = "for tests", .options = options, .open = open_policy, .close = close_policy,        \
        .place = place                                                                                                 \
    }

static const struct trib_policy first = POLICY("pack-first"), second = POLICY("pack-first"), taken = POLICY("none"),
                                incomplete = {.name = "pack-incomplete", .summary = "for tests", .options = options};

#if FAULT == 1 /* version */
static const struct trib_policy *const policies[] = {&first, NULL};
const struct trib_policy_pack trib_policy_pack = {.version = TRIB_POLICY_VERSION + 1, .policies = policies};
#elif FAULT == 2 /* no table */
const int something_else = sizeof first + sizeof second + sizeof taken + sizeof incomplete;
#elif FAULT == 3 /* a name that the engine has */
static const struct trib_policy *const policies[] = {&first, &taken, NULL};
const struct trib_policy_pack trib_policy_pack = {.version = TRIB_POLICY_VERSION, .policies = policies};
#elif FAULT == 4 /* the same name twice */
static const struct trib_policy *const policies[] = {&first, &second, NULL};
const struct trib_policy_pack trib_policy_pack = {.version = TRIB_POLICY_VERSION, .policies = policies};
#elif FAULT == 5 /* functions missing */
static const struct trib_policy *const policies[] = {&first, &incomplete, NULL};
const struct trib_policy_pack trib_policy_pack = {.version = TRIB_POLICY_VERSION, .policies = policies};
#elif FAULT == 6 /* no policy at all */
static const struct trib_policy *const policies[] = {NULL};
const struct trib_policy_pack trib_policy_pack = {.version = TRIB_POLICY_VERSION, .policies = policies};
#endif
