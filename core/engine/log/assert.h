/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's broken invariants stop it, in release builds too: NDEBUG is never defined. What runs inside hosts
 * asserts nothing (core/client). TRIB_HOT_ASSERT guards inner loops where a check costs more than it saves; it is on
 * unless TRIB_NO_HOT_ASSERT is defined (release preset). */
#ifndef TRIB_LOG_ASSERT_H
#define TRIB_LOG_ASSERT_H

#include <assert.h>

#include "base/likely.h"

#ifdef TRIB_NO_HOT_ASSERT
#define TRIB_HOT_ASSERT(condition) ((void)0)
#else
#define TRIB_HOT_ASSERT(condition) assert(condition)
#endif

#endif
