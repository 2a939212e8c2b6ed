/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Baseline of every paper (FAST'19 section 6.1): a drive without streams.
 * Idea        Everything in S0.
 * Uses        Nothing.
 * Constants   None.
 * Deviations  None. With internal streams (internal=twin) it is FAST'19's "Baseline with internal
 *             streams".
 * Cost        None. */
#include "policy/policies.h"

static const struct trib_option_spec options[] = {TRIB_OPTIONS_END};

static const struct trib_policy_variant variants[] = {
    {.options = "", .use = TRIB_VARIANT_FIRST_TABLE},
    {.options = NULL},
};

static int none_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                     struct trib_error *error) {
    (void)env;
    *self = NULL;
    return trib_options_take(given, options, NULL, error);
}

static void none_close(void *self) {
    (void)self;
}

static uint16_t none_place(void *self, const struct trib_placement *write) {
    (void)self;
    (void)write;
    return 0;
}

const struct trib_policy trib_policy_none = {
    .name = "none",
    .summary = "everything in S0: a drive without streams",
    .options = options,
    .variants = variants,
    .open = none_open,
    .close = none_close,
    .place = none_place,
};
