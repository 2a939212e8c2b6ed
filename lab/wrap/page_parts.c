/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap/page_parts.h"

#include <tributary/page.h>

#include "base/hash.h"

struct trib_context trib_page_parts(struct trib_context who, uint32_t thread, uint32_t parts) {
    if (parts == TRIB_PAGES_AS_RECORDED || !trib_page_is(&who))
        return who;
    bool by_content = parts & TRIB_PAGES_CONTENT, by_modifications = parts & TRIB_PAGES_MODIFICATIONS;
    uint8_t class = by_content ? trib_page_class_of(&who) : TRIB_PAGE_UNKNOWN;
    who.io_activity = (uint8_t)(class << 4 | (by_modifications ? trib_page_logarithm_of(&who) : 0));
    if (!by_content) {
        who.level = TRIB_LEVEL_UNKNOWN;
        who.column_family = 0;
    }
    if (!(parts & TRIB_PAGES_FRONT))
        who.signature = trib_page_unnoted_signature(class);
    if (parts & TRIB_PAGES_FLUSHER)
        who.signature = trib_hash_mix(who.signature, thread);
    return who;
}
