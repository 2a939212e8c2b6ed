/* SPDX-License-Identifier: Apache-2.0 */
/* The signature of a front end's call path, cheaper where servers keep frame pointers (MySQL, MariaDB and PostgreSQL
 * do): the return addresses along the chain are hashed and looked up among those that were captured before; a path that
 * is new is captured by trib_signature_capture. The chain's words were in use a moment ago, while a capture's own
 * records are out of the cache after a mini-transaction.
 *
 * Only a path whose chain shows every frame of its capture is looked up; others are captured each time. Not seen: a
 * path that differs from a known one in nothing but frames without a pointer; and after dlclose, other code at the same
 * address.
 *
 * Thread safety: any thread; no lock. Reads the calling thread's own stack only. */
#ifndef TRIB_BUFFER_PATH_H
#define TRIB_BUFFER_PATH_H

#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

/* As trib_signature_capture(frame, depth), with one depth for the life of the process. */
uint64_t trib_path_signature(void *frame, unsigned depth);

TRIB_C_END
#endif
