/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the agent, in the grammar of docs/options.md: a command among them, the agent's own keys, and all that a
 * pipeline takes. At start-up and attach: takes memory. */
#ifndef TRIB_JVM_OPTIONS_H
#define TRIB_JVM_OPTIONS_H

#include <stdbool.h>

#include <tributary/options.h>

TRIB_C_BEGIN

enum trib_jvm_command { TRIB_JVM_START, TRIB_JVM_STATUS, TRIB_JVM_DUMP, TRIB_JVM_STOP };

#define TRIB_JVM_ENDS_MAX 32u

struct trib_jvm_options {
    enum trib_jvm_command command;
    bool full;                       /* path=full: every application frame counts */
    bool fast;                       /* fast=on: use frame pointers where the JVM keeps them */
    bool check;                      /* fast=check: and ask JVMTI all the same, every time */
    bool strict;                     /* strict=on: what is wrong ends the JVM */
    uint32_t innermost, outermost;   /* application frames of path=ends */
    char file[TRIB_OPTION_TEXT_MAX]; /* file=PATH: where status and dump go; empty = standard error */
    char pipeline[3072];             /* the rest */
};

extern const struct trib_option_spec trib_jvm_option_specs[];

/* 0; -EINVAL, -ENOMEM with a sentence: *out has the defaults then, but for `strict`, which counts all the same. */
int trib_jvm_options_parse(const char *text, struct trib_jvm_options *out, struct trib_error *error);

TRIB_C_END
#endif
