/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the hook itself: environment variable TRIBUTARY_BUFFER, in the grammar of docs/options.md. (TRIBUTARY says
 * where the events go.) What is wrong is one line on standard error, and the defaults. Thread safety: constant after
 * start-up. */
#ifndef TRIB_BUFFER_OPTIONS_H
#define TRIB_BUFFER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/options.h>

TRIB_C_BEGIN

/* What is demanded of a server before its mini-transactions are read (mtr.h). Each includes the ones before it. */
enum trib_buffer_layout {
    TRIB_LAYOUT_KNOWN,  /* a build that was examined, by its build-id */
    TRIB_LAYOUT_PROVEN, /* or code that names every field of the layout */
    TRIB_LAYOUT_GUESS,  /* or nothing but a function of the right name; what it is given must fit all the same */
};

struct trib_buffer_options {
    uint64_t frames;     /* pages that may be dirty; 0 = ask the server, else 2^18 */
    uint64_t page_bytes; /* innodb_page_size, where the server does not export it */
    uint32_t depth;      /* frames of a front end's call path, 1..32 */
    int layout;          /* enum trib_buffer_layout */
    bool front;          /* hook the front end at all */
    bool report;         /* a line of figures on standard error at exit */
};

extern const struct trib_option_spec trib_buffer_option_specs[];

/* The defaults until start has read the environment. */
const struct trib_buffer_options *trib_buffer_settings(void);
void trib_buffer_options_start(void);

/* 0; -EINVAL, -ENOMEM with a sentence: *out is untouched. */
int trib_buffer_options_parse(const char *text, struct trib_buffer_options *out, struct trib_error *error);

TRIB_C_END
#endif
