/* SPDX-License-Identifier: Apache-2.0 */
/* Who dirtied this page? For storage engines that write through a buffer of their own: one call path changes a page,
 * quite another (page cleaner, checkpointer, doublewrite) writes it later, so the writer's call path says nothing. With
 * this header the engine tells Tributary while it is still known. Copy it into the engine's tree; it needs <dlfcn.h>
 * and nothing else. C99 and C++.
 *
 *     #include "tributary/buffer.h"
 *
 *     void mark_dirty(struct page *page)               // the page is latched for writing
 *     {
 *         page->dirty = true;
 *         trib_buffer_note(page->space, page->number);
 *     }
 *     void write_page(struct page *page)               // latched or fixed: nobody changes it now
 *     {
 *         trib_buffer_flush(page->space, page->number, page->frame, PAGE_SIZE);
 *         pwrite(page->fd, page->frame, PAGE_SIZE, page->number * PAGE_SIZE);
 *     }
 *
 * There is no link dependency: the first call looks for the symbol trib_buffer_api_1, which is there when a Tributary
 * library is preloaded; without it every call is one predicted branch. A library loaded into the running program is
 * found by calling trib_buffer_look_again().
 *
 * A call may be made by any thread, and by any process that was forked after attach(): one may note what another
 * flushes. None blocks, allocates (but attach), touches errno, or makes a system call (but attach, and the first note
 * of a thread or of a call path). Order: note() while the page is latched for writing, flush() while nobody may change
 * it, the write after that; then the engine's own latch keeps one page's calls apart. `file` and `page` are the
 * engine's own numbers, e.g. (space id, page number) or (relation << 4 | fork, block); `file` below 2^32, `page` below
 * 2^32. */
#ifndef TRIBUTARY_BUFFER_H
#define TRIBUTARY_BUFFER_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trib_buffer_page {
    uint64_t file, page;
};

struct trib_buffer_api {
    uint32_t version; /* 1 */
    uint32_t bytes;   /* of this struct: later versions append */
    int (*attach)(const char *engine, size_t page_bytes, size_t frames);
    void (*note)(uint64_t file, uint64_t page);
    void (*note_batch)(const struct trib_buffer_page *pages, unsigned count);
    void (*flush)(uint64_t file, uint64_t page, const void *frame, size_t length_bytes);
    void (*forget)(uint64_t file, uint64_t first, uint64_t count);
    uint64_t (*tag)(uint64_t tag);
    uint64_t (*capture)(void);
    void (*adopt)(uint64_t signature);
};

#define TRIB_BUFFER_UNASKED ((const struct trib_buffer_api *)1)

/* One variable per file that includes this: each asks once. */
static const struct trib_buffer_api *trib_buffer_found = TRIB_BUFFER_UNASKED;

static inline const struct trib_buffer_api *trib_buffer_ask(void) {
    const struct trib_buffer_api *api = (const struct trib_buffer_api *)dlsym(RTLD_DEFAULT, "trib_buffer_api_1");
    if (api && (api->version != 1 || api->bytes < sizeof *api))
        api = NULL;
    __atomic_store_n(&trib_buffer_found, api, __ATOMIC_RELAXED);
    return api;
}

static inline const struct trib_buffer_api *trib_buffer_library(void) {
    const struct trib_buffer_api *api = __atomic_load_n(&trib_buffer_found, __ATOMIC_RELAXED);
    return __builtin_expect(api == TRIB_BUFFER_UNASKED, 0) ? trib_buffer_ask() : api;
}

/* The next call asks for the library again. */
static inline void trib_buffer_look_again(void) {
    __atomic_store_n(&trib_buffer_found, TRIB_BUFFER_UNASKED, __ATOMIC_RELAXED);
}

#define TRIB_BUFFER_CALL(call)                                                                                         \
    do {                                                                                                               \
        const struct trib_buffer_api *api = trib_buffer_library();                                                     \
        if (__builtin_expect(api != NULL, 0))                                                                          \
            api->call;                                                                                                 \
    } while (0)

/* At start, before any fork: the size of a page and the number of frames in the pool. "innodb" says that the pages
 * carry InnoDB's headers, so that they need no flush(). 0; -1 without the library or its memory. Optional, but without
 * it the table is not shared with processes forked later, and sized by guess. Again, by the same process: its pool is
 * empty anew (a postmaster after a crash of a child), all notes are forgotten, and nobody may call the others
 * meanwhile. */
static inline int trib_buffer_attach(const char *engine, size_t page_bytes, size_t frames) {
    const struct trib_buffer_api *api = trib_buffer_library();
    return api ? api->attach(engine, page_bytes, frames) : -1;
}

/* The calling thread, on this call path, dirtied the page. */
static inline void trib_buffer_note(uint64_t file, uint64_t page) {
    TRIB_BUFFER_CALL(note(file, page));
}

/* All pages of one mini-transaction: one walk of the stack. */
static inline void trib_buffer_note_batch(const struct trib_buffer_page *pages, unsigned count) {
    TRIB_BUFFER_CALL(note_batch(pages, count));
}

/* The page is going to be written from [frame, frame + length_bytes), by any thread of this process. */
static inline void trib_buffer_flush(uint64_t file, uint64_t page, const void *frame, size_t length_bytes) {
    TRIB_BUFFER_CALL(flush(file, page, frame, length_bytes));
}

/* Pages that will never be written: dropped, truncated. count 0 = all of the file. One pass over the table at most, a
 * millisecond for 2^18 frames. Optional: what is forgotten nowhere makes room when others need it. */
static inline void trib_buffer_forget(uint64_t file, uint64_t first, uint64_t count) {
    TRIB_BUFFER_CALL(forget(file, first, count));
}

/* What else tells this thread's modifications apart from now on (statement kind, plan, tenant); 0 = nothing. Returns
 * what it was. Optional. */
static inline uint64_t trib_buffer_tag(uint64_t tag) {
    const struct trib_buffer_api *api = trib_buffer_library();
    return api ? api->tag(tag) : 0;
}

/* For work handed to another thread: capture() where it is accepted, adopt() in the worker before it dirties pages, and
 * adopt(0) after. Optional. */
static inline uint64_t trib_buffer_capture(void) {
    const struct trib_buffer_api *api = trib_buffer_library();
    return api ? api->capture() : 0;
}
static inline void trib_buffer_adopt(uint64_t signature) {
    TRIB_BUFFER_CALL(adopt(signature));
}

#ifdef __cplusplus
}
#endif
#endif
