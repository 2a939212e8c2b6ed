/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include <tributary/signature.h>

#include "base/line.h"

#define FIELD(name) offsetof(struct trib_buffer_options, name)

const struct trib_option_spec trib_buffer_option_specs[] = {
    {.key = "frames",
     .fallback = "0",
     .help = "pages that may be dirty; 0: as the server says, else 262144",
     .maximum = 2147483648.0,
     .offset = FIELD(frames),
     .type = TRIB_OPTION_SIZE},
    {.key = "page",
     .fallback = "16K",
     .help = "innodb_page_size, a power of two, where the server does not say it",
     .minimum = 4096,
     .maximum = 65536,
     .offset = FIELD(page_bytes),
     .type = TRIB_OPTION_SIZE},
    {.key = "depth",
     .fallback = "16",
     .help = "frames of a front end's call path",
     .minimum = 1,
     .maximum = TRIB_SIGNATURE_DEPTH_MAX,
     .offset = FIELD(depth),
     .type = TRIB_OPTION_U32},
    {.key = "front",
     .fallback = "on",
     .help = "hook the front end; off: pages go by their content",
     .offset = FIELD(front),
     .type = TRIB_OPTION_BOOL},
    {.key = "report",
     .fallback = "off",
     .help = "a line of figures on standard error at the end",
     .offset = FIELD(report),
     .type = TRIB_OPTION_BOOL},
    {.key = "layout",
     .fallback = "proven",
     .choices = "known|proven|guess",
     .help = "servers that are hooked: known builds, code that names the fields, or any; all must pass the self-test",
     .offset = FIELD(layout),
     .type = TRIB_OPTION_ENUM},
    TRIB_OPTIONS_END,
};

static struct trib_buffer_options chosen = {
    .page_bytes = 16384, .depth = 16, .layout = TRIB_LAYOUT_PROVEN, .front = true}; /* as the fallbacks above */

int trib_buffer_options_parse(const char *text, struct trib_buffer_options *out, struct trib_error *error) {
    struct trib_buffer_options taken;
    int code = trib_options_read(text, trib_buffer_option_specs, &taken, error);

    if (code)
        return code;
    if (taken.page_bytes & (taken.page_bytes - 1))
        return trib_fail(error, -EINVAL, "option 'page': '%llu' is not valid; expected a power of two",
                         (unsigned long long)taken.page_bytes);
    *out = taken;
    return 0;
}

void trib_buffer_options_start(void) {
    struct trib_error error;

    if (trib_buffer_options_parse(secure_getenv("TRIBUTARY_BUFFER"), &chosen, &error))
        (void)trib_line((const char *[]){"TRIBUTARY_BUFFER: ", error.text, "; the defaults hold", NULL});
}

const struct trib_buffer_options *trib_buffer_settings(void) {
    return &chosen;
}
