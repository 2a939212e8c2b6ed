/* SPDX-License-Identifier: Apache-2.0 */
/* Small numbers for threads: 1, 2, ... in the order in which they first ask; a fork's child keeps its parent's. */
#ifndef TRIB_BASE_THREAD_NUMBER_H
#define TRIB_BASE_THREAD_NUMBER_H

#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

uint32_t trib_thread_number(void);

TRIB_C_END
#endif
