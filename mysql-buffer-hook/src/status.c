/* SPDX-License-Identifier: Apache-2.0 */
/* For people: one line of figures, and the function of MySQL and MariaDB that shows it:
 *
 *     CREATE FUNCTION tributary_status RETURNS STRING SONAME 'libtributary-mysql.so';
 *     SELECT tributary_status();
 *
 * The same statement loads the library into a running server. */
#include "status.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <tributary/error.h>

#include "copies.h"
#include "identify.h"
#include "note.h"
#include "server/front.h"

int trib_buffer_status(char *text, size_t capacity) {
    struct trib_identify_counts counts;
    struct trib_note_cost cost;
    struct trib_page_table *table = trib_note_table();
    char front[160];

    trib_identify_count(&counts);
    trib_note_measure(&cost);
    trib_front_describe(front, sizeof front);
    return snprintf(
        text, capacity,
        "pages=%llu noted=%.2f%% copies=%llu allocated=%llu unknown=%llu batches=%llu notes=%llu "
        "note_ns=%.0f note_p99_ns=%.0f evicted=%llu contended=%llu refusals=%u front=%s",
        (unsigned long long)counts.pages, counts.pages ? 100.0 * (double)counts.noted / (double)counts.pages : 0,
        (unsigned long long)counts.copies, (unsigned long long)counts.allocated, (unsigned long long)counts.unknown,
        (unsigned long long)cost.batches, (unsigned long long)cost.pages, cost.median_ns, cost.p99_ns,
        (unsigned long long)(table ? atomic_load(&table->evicted) : 0),
        (unsigned long long)(table ? atomic_load(&table->contended) : 0), trib_front_refusals(), front);
}

/* ---- user-defined function; the types are the server's, of which only the result's room (255 bytes) is used ---- */

#define RESULT_BYTES 255u

TRIB_EXPORT char tributary_status_init(void *init, void *arguments, char *message);
TRIB_EXPORT void tributary_status_deinit(void *init);
TRIB_EXPORT char *tributary_status(void *init, void *arguments, char *result, unsigned long *length, char *is_null,
                                   char *error);

char tributary_status_init(void *init, void *arguments, char *message) {
    (void)init;
    (void)arguments;
    (void)message;
    return 0;
}

void tributary_status_deinit(void *init) {
    (void)init;
}

typedef char *status_function(void *init, void *arguments, char *result, unsigned long *length, char *is_null,
                              char *error);

char *tributary_status(void *init, void *arguments, char *result, unsigned long *length, char *is_null, char *error) {
    status_function *first = (status_function *)trib_copies_first("tributary_status");
    char text[512];

    if (first) /* preloaded, and this is the copy that CREATE FUNCTION has opened */
        return first(init, arguments, result, length, is_null, error);
    (void)trib_buffer_status(text, sizeof text);
    *length = strnlen(text, RESULT_BYTES);
    memcpy(result, text, *length);
    return result;
}
