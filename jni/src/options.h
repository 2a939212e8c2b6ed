/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the agent, "key=value,key=value": a command, the agent's own keys, and all that a pipeline takes
 * (docs/options.md). Pure functions. */
#ifndef TRIB_JVM_OPTIONS_H
#define TRIB_JVM_OPTIONS_H

#include <stdbool.h>

#include <tributary/error.h>

TRIB_C_BEGIN

enum trib_jvm_command { TRIB_JVM_START, TRIB_JVM_STATUS, TRIB_JVM_DUMP, TRIB_JVM_STOP };

#define TRIB_JVM_ENDS_MAX 32u

struct trib_jvm_options {
    enum trib_jvm_command command;
    bool full;                     /* path=full: every application frame counts */
    bool fast;                     /* fast=on: use frame pointers where the JVM keeps them */
    bool check;                    /* fast=check: and ask JVMTI all the same, every time */
    bool strict;                   /* strict=1: what is wrong ends the JVM */
    unsigned innermost, outermost; /* application frames of path=ends */
    char file[1024];               /* file=PATH: where status and dump go; empty = standard error */
    char pipeline[3072];           /* the rest */
};

/* 0, or -EINVAL with a sentence. `out` is complete in both cases as far as it could be read, so that strict counts.
 * */
int trib_jvm_options_parse(const char *text, struct trib_jvm_options *out, struct trib_error *error);

TRIB_C_END
#endif
