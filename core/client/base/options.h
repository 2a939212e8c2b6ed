/* SPDX-License-Identifier: Apache-2.0 */
/* The one parser of options: opens a text, lets components take their keys (tributary/options.h), and says at the end
 * what nobody took. Thread safety: one owner. */
#ifndef TRIB_BASE_OPTIONS_H
#define TRIB_BASE_OPTIONS_H

#include <stdbool.h>

#include <tributary/options.h>

TRIB_C_BEGIN

/* Parses the grammar only. 0; -EINVAL (empty key, key twice, missing '='); -ENOMEM. text may be NULL or "". */
int trib_options_open(struct trib_options **out, const char *text, struct trib_error *error);
void trib_options_close(struct trib_options *options);

/* -EINVAL if a key was given that nobody took; the sentence lists all keys of the specs taken so far. */
int trib_options_finish(const struct trib_options *options, struct trib_error *error);

TRIB_C_END
#endif
