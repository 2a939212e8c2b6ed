/* SPDX-License-Identifier: Apache-2.0 */
/* The front end's side: the calling thread dirtied pages; its call path goes into the page table. Thread safety: any
 * thread, not signal handlers. Keeps errno. Nothing allocates but the table's opening. */
#ifndef TRIB_BUFFER_NOTE_H
#define TRIB_BUFFER_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

#include "innodb/page_table.h"

TRIB_C_BEGIN

#define TRIB_NOTE_BATCH_MAX 32 /* pages that one walk of the stack serves; more begin another batch */

/* What the calling thread's notes are to say besides, or instead: trib_buffer_tag, trib_buffer_adopt. */
uint64_t trib_note_tag(uint64_t tag);
void trib_note_adopt(uint64_t signature);

/* The signature that a note on this call path would carry. `frame` as for trib_path_signature. */
uint64_t trib_note_signature(void *frame);

/* keys[i] = trib_page_key(...); each once per call, count <= TRIB_NOTE_BATCH_MAX. */
void trib_note_pages(const uint64_t *keys, unsigned count, void *frame);

/* Room for dirty pages; the first opening counts, later ones do nothing. frames 0: the option's number, or the default.
 * 0 or -errno. */
int trib_note_open(size_t frames, bool shared);

/* NULL until opened, or without memory. */
struct trib_page_table *trib_note_table(void);

/* What a batch costs, from the page keys to the last note: one in 128 of a thread is timed, what reading the
 * clock takes (an empty interval right before) taken off. */
struct trib_note_cost {
    uint64_t batches, pages;
    double median_ns, p99_ns; /* of the timed ones; 0 without */
};
void trib_note_measure(struct trib_note_cost *out);

TRIB_C_END
#endif
