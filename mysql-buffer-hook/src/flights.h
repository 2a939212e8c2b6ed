/* SPDX-License-Identifier: Apache-2.0 */
/* Between trib_buffer_flush and the system call: pages on their way, by the address of the memory that will be written.
 * For engines whose pages do not say which they are. 256 at a time; later ones displace. Thread safety: any thread. */
#ifndef TRIB_BUFFER_FLIGHTS_H
#define TRIB_BUFFER_FLIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

#include "innodb/page_table.h"

TRIB_C_BEGIN

struct trib_flight {
    struct trib_page_note note; /* signature 0: nobody noted the page */
    uint64_t file;
    size_t length_bytes;
};

void trib_flight_begin(const void *frame, const struct trib_flight *flight);

/* The page that is being written from `frame`; it is gone then. False if none is announced. Nothing but one load as
 * long as nobody ever announced one. */
bool trib_flight_end(const void *frame, struct trib_flight *out);

TRIB_C_END
#endif
