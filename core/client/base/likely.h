/* SPDX-License-Identifier: Apache-2.0 */
/* Which way a branch goes nearly always. */
#ifndef TRIB_BASE_LIKELY_H
#define TRIB_BASE_LIKELY_H

#define TRIB_LIKELY(x)   __builtin_expect(!!(x), 1)
#define TRIB_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
