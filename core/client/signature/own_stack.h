/* SPDX-License-Identifier: Apache-2.0 */
/* Where the calling thread's own stack lies. pthread_getattr_np cannot be asked: it allocates, takes locks and uses
 * stdio, and a thread's first capture may happen in a signal handler that interrupted any of these.
 *
 * Thread safety: any thread; async-signal-safe; changes errno. Costs one reading of /proc/self/maps. */
#ifndef TRIB_SIGNATURE_OWN_STACK_H
#define TRIB_SIGNATURE_OWN_STACK_H

#include "stack.h"

/* `frame`: an address on the stack in use, which may be another one (an alternate signal stack, a fibre's).
 * low == high if it cannot be found out. */
struct trib_stack trib_own_stack(uintptr_t frame);

#endif
