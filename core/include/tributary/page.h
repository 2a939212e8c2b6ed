/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a page that a write-buffer engine flushes (InnoDB, PostgreSQL): how what is known of the page lies in
 * struct trib_context. Adapters write it, the tool names it; docs/formats/page-context.md.
 *
 *   signature      call path of the front end that dirtied the page (the majority of the modifications since its last
 *                  flush); trib_page_unnoted_signature(class) if nobody said
 *   level          level in the B-tree, 0 = leaves; TRIB_LEVEL_UNKNOWN
 *   column_family  16-bit hash of the space and index that the page belongs to; 0 = unknown
 *   io_activity    class of the page << 4 | min(15, floor(log2(modifications since its last flush)))
 *   file_kind      TRIB_FILE_DATABASE or TRIB_FILE_TEMP: only pages of these have such an io_activity
 *
 * So the salts of the attribute table, and the tree of contexts of policy `tributary`, back off from the whole context
 * to the call path by themselves. Thread safety: pure functions. */
#ifndef TRIBUTARY_PAGE_H
#define TRIBUTARY_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/event.h>

TRIB_C_BEGIN

/* Four bits, stored in traces: append only. 15 stays free, because TRIB_ACTIVITY_UNKNOWN would be one of its values. */
enum trib_page_class {
    TRIB_PAGE_UNKNOWN = 0, /* its header makes no sense, or the engine does not say */
    TRIB_PAGE_LEAF = 1,    /* B-tree, level 0 */
    TRIB_PAGE_NODE = 2,    /* B-tree, above */
    TRIB_PAGE_INDEX = 3,   /* B-tree, level unreadable: compressed or encrypted */
    TRIB_PAGE_SPATIAL = 4, /* R-tree */
    TRIB_PAGE_UNDO = 5,
    TRIB_PAGE_TRANSACTIONS = 6,  /* transaction system and rollback segment headers */
    TRIB_PAGE_SPACE_MAP = 7,     /* which pages of the file are in use */
    TRIB_PAGE_CHANGE_BUFFER = 8, /* bitmaps and free list; its tree is LEAF and NODE of space 0 */
    TRIB_PAGE_LARGE_VALUE = 9,   /* BLOB and the like */
    TRIB_PAGE_DICTIONARY = 10,   /* serialised dictionary information */
    TRIB_PAGE_ALLOCATED = 11,    /* zeros: the file grows */
    TRIB_PAGE_CLASS_COUNT = 12,
};

#define TRIB_PAGE_MODIFICATIONS_MAX 15 /* of the logarithm */

static inline uint8_t trib_page_activity(uint8_t page_class, uint32_t modifications) {
    unsigned logarithm = modifications ? 31u - (unsigned)__builtin_clz(modifications) : 0;
    if (logarithm > TRIB_PAGE_MODIFICATIONS_MAX)
        logarithm = TRIB_PAGE_MODIFICATIONS_MAX;
    return (uint8_t)(page_class << 4 | logarithm);
}

/* Does io_activity of this context name a page? (RocksDB's numbers and ours overlap; the file kinds do not.) */
static inline bool trib_page_is(const struct trib_context *who) {
    return (who->file_kind == TRIB_FILE_DATABASE || who->file_kind == TRIB_FILE_TEMP) &&
           who->io_activity >> 4 < TRIB_PAGE_CLASS_COUNT;
}

static inline uint8_t trib_page_class_of(const struct trib_context *who) {
    return who->io_activity >> 4;
}

/* Of the modifications, rounded down. */
static inline uint8_t trib_page_logarithm_of(const struct trib_context *who) {
    return who->io_activity & 15;
}

/* "page" and the class in ASCII: no hash of a call path is expected to be one of these. */
static inline uint64_t trib_page_unnoted_signature(uint8_t page_class) {
    return 0x7061676500000000ull | page_class;
}

static inline const char *trib_page_class_name(uint8_t page_class) {
    static const char *const names[TRIB_PAGE_CLASS_COUNT] = {
        "unknown",      "leaf",      "node",          "index",       "spatial",    "undo",
        "transactions", "space-map", "change-buffer", "large-value", "dictionary", "allocated"};
    return page_class < TRIB_PAGE_CLASS_COUNT ? names[page_class] : "unknown";
}

TRIB_C_END
#endif
