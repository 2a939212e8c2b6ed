/* SPDX-License-Identifier: Apache-2.0 */
/* An ablation of events: of a database page's context (tributary/page.h) only some parts count. Thread safety: pure
 * functions. */
#ifndef TRIB_LAB_PAGE_PARTS_H
#define TRIB_LAB_PAGE_PARTS_H

#include <tributary/event.h>

TRIB_C_BEGIN

/* Bit order of option `pages`. */
enum trib_page_part {
    TRIB_PAGES_FRONT = 1u << 0,
    TRIB_PAGES_CONTENT = 1u << 1,
    TRIB_PAGES_MODIFICATIONS = 1u << 2,
    TRIB_PAGES_FLUSHER = 1u << 3,
};
#define TRIB_PAGES_AS_RECORDED (TRIB_PAGES_FRONT | TRIB_PAGES_CONTENT | TRIB_PAGES_MODIFICATIONS)

/* Of a database page's context only what `parts` has; others are as recorded. A flusher is a thread. */
struct trib_context trib_page_parts(struct trib_context who, uint32_t thread, uint32_t parts);

TRIB_C_END
#endif
