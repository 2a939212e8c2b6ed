/* SPDX-License-Identifier: Apache-2.0 */
/* The back end's side: what the shim learns of each write. A page goes by its note and its header; all else by the
 * writer's own call path. Thread safety: any thread. Keeps errno. */
#ifndef TRIB_BUFFER_IDENTIFY_H
#define TRIB_BUFFER_IDENTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

#include "shim.h"

TRIB_C_BEGIN

/* Pages carry InnoDB's headers. Set for a recognised server, and by trib_buffer_attach("innodb"). */
void trib_identify_innodb(bool yes);

trib_shim_identify trib_buffer_identify;

struct trib_identify_counts {
    uint64_t pages, noted; /* of the pool: written where they belong */
    uint64_t allocated;    /* zeros */
    uint64_t copies;       /* doublewrite, within a data file */
    uint64_t unknown;      /* in a data or temporary file, and no page */
};
void trib_identify_count(struct trib_identify_counts *out);

TRIB_C_END
#endif
