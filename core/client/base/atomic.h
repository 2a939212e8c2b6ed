/* SPDX-License-Identifier: Apache-2.0 */
/* C11 atomics that C++ tests can also look at: the same layout under both languages. */
#ifndef TRIB_BASE_ATOMIC_H
#define TRIB_BASE_ATOMIC_H

#ifdef __cplusplus
#include <atomic>
#define TRIB_ATOMIC(type) std::atomic<type>
#else
#include <stdatomic.h>
#define TRIB_ATOMIC(type) _Atomic(type)
#endif

#endif
