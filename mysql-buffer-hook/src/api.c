/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind tributary/buffer.h. An engine that notes its own pages needs no hook: the first call takes it out.
 */
#include <tributary/buffer.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <tributary/error.h>
#include <tributary/signature.h>

#include "flights.h"
#include "identify.h"
#include "note.h"
#include "server/front.h"

static _Atomic(bool) retired;
static _Atomic(bool) innodb;
static _Atomic(pid_t) attached_by;

static void take_over(void) {
    if (__builtin_expect(!atomic_load_explicit(&retired, memory_order_relaxed), 0) && !atomic_exchange(&retired, true))
        trib_front_retire(NULL);
}

static uint64_t key_of(uint64_t file, uint64_t page) {
    return trib_page_key((uint32_t)file, (uint32_t)page);
}

static int attach(const char *engine, size_t page_bytes, size_t frames) {
    bool is_innodb = strcmp(engine, "innodb") == 0;
    /* InnoDB keeps a share of its pool clean; PostgreSQL's may be dirty to the last page. */
    size_t room = is_innodb || frames > SIZE_MAX / 2 ? frames : frames + frames / 2;

    (void)page_bytes; /* InnoDB's pages tell; of others flush() says the length */
    take_over();
    atomic_store(&innodb, is_innodb);
    if (is_innodb)
        trib_identify_innodb(true);
    if (trib_note_open(room, !is_innodb))
        return -1;
    pid_t self = getpid();
    if (atomic_exchange(&attached_by, self) == self && trib_note_table())
        trib_page_table_clear(trib_note_table());
    return 0;
}

/* The wrappers below must own a frame: the call path begins with their caller. */
static void note(uint64_t file, uint64_t page) {
    uint64_t key = key_of(file, page);

    take_over();
    trib_note_pages(&key, 1, TRIB_FRAME_HERE());
}

static void note_batch(const struct trib_buffer_page *pages, unsigned count) {
    uint64_t keys[TRIB_NOTE_BATCH_MAX];

    take_over();
    while (count) {
        unsigned now = count < TRIB_NOTE_BATCH_MAX ? count : TRIB_NOTE_BATCH_MAX;
        for (unsigned i = 0; i < now; i++)
            keys[i] = key_of(pages[i].file, pages[i].page);
        trib_note_pages(keys, now, TRIB_FRAME_HERE());
        pages += now;
        count -= now;
    }
}

static void flush(uint64_t file, uint64_t page, const void *frame, size_t length_bytes) {
    struct trib_flight flight = {.file = file, .length_bytes = length_bytes};
    struct trib_page_table *table = trib_note_table();

    if (atomic_load_explicit(&innodb, memory_order_relaxed))
        return; /* the page's header will say it, wherever it is written from */
    if (table)
        (void)trib_page_table_take(table, key_of(file, page), &flight.note);
    trib_flight_begin(frame, &flight);
}

static void forget(uint64_t file, uint64_t first, uint64_t count) {
    struct trib_page_table *table = trib_note_table();

    if (table && first <= UINT32_MAX)
        trib_page_table_forget(table, (uint32_t)file, (uint32_t)first, count);
}

static uint64_t capture(void) {
    return trib_note_signature(TRIB_FRAME_HERE());
}

extern const struct trib_buffer_api trib_buffer_api_1;
TRIB_EXPORT const struct trib_buffer_api trib_buffer_api_1 = {
    .version = 1,
    .bytes = sizeof(struct trib_buffer_api),
    .attach = attach,
    .note = note,
    .note_batch = note_batch,
    .flush = flush,
    .forget = forget,
    .tag = trib_note_tag,
    .capture = capture,
    .adopt = trib_note_adopt,
};
