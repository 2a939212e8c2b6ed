/* SPDX-License-Identifier: Apache-2.0 */
/* Broken invariants stop the program, in release builds too: NDEBUG is never defined. TRIB_HOT_ASSERT guards inner
 * loops where a check costs more than it saves; it is on unless TRIB_NO_HOT_ASSERT is defined (release preset). */
#ifndef TRIB_BASE_ASSERT_H
#define TRIB_BASE_ASSERT_H

#include <assert.h>

#include "base/likely.h"

#ifdef TRIB_NO_HOT_ASSERT
#define TRIB_HOT_ASSERT(condition) ((void)0)
#else
#define TRIB_HOT_ASSERT(condition) assert(condition)
#endif

#endif
