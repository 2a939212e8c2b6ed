/* SPDX-License-Identifier: Apache-2.0 */
/* Start-up, in two steps. A constructor does what allocates or locks. What asks the system and reserves memory waits
 * for the first capture: most programs of a build write no file, and should not pay for it. It uses raw system calls,
 * with signals blocked, while other threads wait for it. Thread safety: any; trib_start is async-signal-safe. */
#ifndef TRIB_SIGNATURE_START_H
#define TRIB_SIGNATURE_START_H

#include <stdbool.h>

#include "base/atomic.h"
#include "dictionary.h"

TRIB_C_BEGIN

enum trib_start_state { TRIB_START_NONE, TRIB_START_RUNS, TRIB_START_DONE };

extern TRIB_ATOMIC(int) trib_start_state;
extern TRIB_ATOMIC(bool) trib_start_by_hand; /* captures wait for trib_start, they do not call it */

extern struct trib_dictionary trib_names; /* call paths, for people; empty without memory */

/* The second step, once. The adapter calls it before the first capture where a capture may come at a time that forbids
 * system calls. False: another thread is still at it. */
bool trib_start(void);

TRIB_C_END
#endif
