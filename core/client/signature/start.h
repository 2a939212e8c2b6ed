/* SPDX-License-Identifier: Apache-2.0 */
/* Start-up: everything that allocates, locks, asks the system or reads a file is done here, by a constructor. A capture
 * that comes before it (another library's constructor writes) does the part that needs no lock. Thread safety: any. */
#ifndef TRIB_SIGNATURE_START_H
#define TRIB_SIGNATURE_START_H

#include <stdbool.h>

#include "base/atomic.h"
#include "dictionary.h"

TRIB_C_BEGIN

enum trib_start_state { TRIB_START_NONE, TRIB_START_RUNS, TRIB_START_DONE };

extern TRIB_ATOMIC(int) trib_start_state;

extern struct trib_dictionary trib_names; /* call paths, for people; empty without memory */

/* False while another thread, or what a signal interrupted, is at it. */
bool trib_start(void);

TRIB_C_END
#endif
