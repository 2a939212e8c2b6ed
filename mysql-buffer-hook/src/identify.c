/* SPDX-License-Identifier: Apache-2.0 */
#include "identify.h"

#include <stdatomic.h>

#include <tributary/page.h>

#include "flights.h"
#include "innodb/page_header.h"
#include "innodb/spaces.h"
#include "note.h"
#include "self_test.h"
#include "server/front.h"
#include "server/server.h"

static _Atomic(bool) innodb;
static struct trib_self_test self_test;
static struct { _Atomic(uint64_t) pages, noted, allocated, copies, unknown; } counts;

void trib_identify_innodb(bool yes) {
    atomic_store(&innodb, yes);
}

void trib_identify_count(struct trib_identify_counts *out) {
    *out = (struct trib_identify_counts){.pages = atomic_load(&counts.pages),
                                         .noted = atomic_load(&counts.noted),
                                         .allocated = atomic_load(&counts.allocated),
                                         .copies = atomic_load(&counts.copies),
                                         .unknown = atomic_load(&counts.unknown)};
}

static void add(_Atomic(uint64_t) *counter) {
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- what lies at one place of the write ---- */

enum sort { PAGE, ALLOCATED, COPY, UNKNOWN };

/* The rest of a write, from one page on. */
struct place {
    uint64_t file, offset_bytes;
    const uint8_t *bytes;
    uint64_t length_bytes; /* readable */
    bool temporary;        /* of a file that may be anybody's (sorting): what is no page there is no copy of one */
};

static enum sort sort_of(const struct place *at, uint32_t page_bytes, struct trib_page_header *header,
                         uint32_t *bytes) {
    *bytes = page_bytes;
    if (at->length_bytes < TRIB_PAGE_HEADER_BYTES)
        return UNKNOWN;
    if (trib_page_header_is_zero(at->bytes, at->length_bytes))
        return ALLOCATED;
    if (trib_page_header_parse(at->bytes, at->length_bytes, trib_server_dialect(), header))
        return UNKNOWN;
    uint32_t here = trib_page_bytes_at(header->page, at->offset_bytes, page_bytes);
    /* The system tablespace has whole pages only, and MariaDB's doublewrite buffer. */
    bool fits = here && (header->space != 0 || header->page == 0 || here == page_bytes) &&
                trib_space_matches(at->file, header->space, header->page == 0);
    if (fits)
        *bytes = here;
    return fits ? PAGE : at->temporary ? UNKNOWN : COPY;
}

static void step(struct place *at, uint64_t bytes) {
    at->bytes += bytes;
    at->offset_bytes += bytes;
    at->length_bytes -= bytes;
}

/* Bytes from here on that are of the same sort; a page stands for itself. */
static uint64_t extent_of(struct place at, enum sort sort, uint32_t page_bytes, uint32_t bytes) {
    uint64_t total = 0;
    struct trib_page_header ignored;
    enum sort next = sort;

    while (next == sort) {
        uint64_t piece = bytes < at.length_bytes ? bytes : at.length_bytes;
        total += piece;
        step(&at, piece);
        if (sort == PAGE || at.length_bytes == 0)
            break;
        next = sort_of(&at, page_bytes, &ignored, &bytes);
    }
    return total;
}

/* ---- contexts ---- */

static void describe(struct trib_context *who, uint8_t page_class, const struct trib_page_note *note) {
    bool named = note && note->signature;

    who->signature = named ? note->signature : trib_page_unnoted_signature(page_class);
    who->io_activity = trib_page_activity(page_class, note ? note->modifications : 0);
}

static void judge(uint64_t lsn, bool noted) {
    if (!trib_front_is_hooked())
        return;
    const struct trib_page_table *table = trib_note_table();
    uint64_t frames = table ? (uint64_t)table->count * TRIB_PAGE_WAYS : 0;
    switch (trib_self_test_flush(&self_test, lsn, noted, frames)) {
    case TRIB_VERDICT_FAILED:
        trib_front_retire("of 1,000 flushed pages fewer than 900 had been seen dirtied");
        break;
    case TRIB_VERDICT_NO_NOTES:
        trib_front_retire("no page that was flushed had been seen dirtied");
        break;
    default:
        break;
    }
}

static void identify_page(const struct trib_page_header *header, struct trib_context *who) {
    struct trib_page_table *table = trib_note_table();
    struct trib_page_note note;
    bool noted = table && trib_page_table_take(table, trib_page_key(header->space, header->page), &note);

    describe(who, header->page_class, noted ? &note : NULL);
    who->level = header->level;
    who->column_family = trib_page_owner(header);
    add(&counts.pages);
    if (noted)
        add(&counts.noted);
    judge(header->lsn, noted);
}

static uint64_t identify_innodb(const struct trib_shim_write *write, struct trib_context *who) {
    uint32_t page_bytes = trib_server_page_bytes(), bytes;
    uint64_t readable = write->parts[0].iov_len < write->length_bytes ? write->parts[0].iov_len : write->length_bytes;
    struct place at = {write->file, write->offset_bytes, write->parts[0].iov_base, readable,
                       write->file_kind == TRIB_FILE_TEMP};
    struct trib_page_header header;
    enum sort sort = sort_of(&at, page_bytes, &header, &bytes);

    switch (sort) {
    case PAGE:
        identify_page(&header, who);
        break;
    case ALLOCATED:
        describe(who, TRIB_PAGE_ALLOCATED, NULL);
        add(&counts.allocated);
        break;
    case COPY:
        (void)trib_shim_identify_native(write, who);
        who->file_kind = TRIB_FILE_JOURNAL;
        add(&counts.copies);
        break;
    case UNKNOWN:
        add(&counts.unknown);
        return trib_shim_identify_native(write, who);
    }
    return extent_of(at, sort, page_bytes, bytes);
}

static uint16_t owner_of(uint64_t file) {
    struct trib_page_header header = {.space = (uint32_t)file};

    return trib_page_owner(&header);
}

static uint64_t identify_flight(const struct trib_shim_write *write, const struct trib_flight *flight,
                                struct trib_context *who) {
    bool noted = flight->note.signature != 0;

    describe(who, TRIB_PAGE_UNKNOWN, noted ? &flight->note : NULL);
    who->column_family = owner_of(flight->file);
    add(&counts.pages);
    if (noted)
        add(&counts.noted);
    return flight->length_bytes < write->length_bytes ? flight->length_bytes : write->length_bytes;
}

uint64_t trib_buffer_identify(const struct trib_shim_write *write, struct trib_context *who) {
    bool of_pages = write->file_kind == TRIB_FILE_DATABASE || write->file_kind == TRIB_FILE_TEMP;
    struct trib_flight flight;

    trib_front_ready();
    if (!of_pages || !write->parts || write->part_count == 0)
        return trib_shim_identify_native(write, who);
    if (trib_flight_end(write->parts[0].iov_base, &flight))
        return identify_flight(write, &flight, who);
    if (atomic_load_explicit(&innodb, memory_order_relaxed))
        return identify_innodb(write, who);
    return trib_shim_identify_native(write, who);
}
