/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the hook itself: environment variable TRIBUTARY_BUFFER, "key=value,key=value". (TRIBUTARY says where the
 * events go.) An unknown key or value is one line on standard error that lists the valid ones, and the defaults. */
#ifndef TRIB_BUFFER_OPTIONS_H
#define TRIB_BUFFER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

struct trib_buffer_options {
    uint32_t frames;     /* pages that may be dirty; 0 = ask the server, else 2^18 */
    uint32_t page_bytes; /* innodb_page_size, where the server does not export it */
    uint32_t depth;      /* frames of a front end's call path, 1..32 */
    bool front;          /* hook the front end at all */
    bool report;         /* a line of figures on standard error at exit */
};

/* Read once, by the first caller. */
const struct trib_buffer_options *trib_buffer_settings(void);

/* For tests: parses `text` into *out, which holds the defaults. False: `problem` says why. */
bool trib_buffer_options_parse(const char *text, struct trib_buffer_options *out, char problem[160]);

TRIB_C_END
#endif
