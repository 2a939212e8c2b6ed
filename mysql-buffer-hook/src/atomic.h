/* SPDX-License-Identifier: Apache-2.0 */
/* C11 atomics in structures that C++ tests look at, too: the same layout under both languages. As
 * core/src/base/atomic.h, which an adapter does not see. */
#ifndef TRIB_BUFFER_ATOMIC_H
#define TRIB_BUFFER_ATOMIC_H

#ifdef __cplusplus
#include <atomic>
#define TRIB_ATOMIC(type) std::atomic<type>
#else
#include <stdatomic.h>
#define TRIB_ATOMIC(type) _Atomic(type)
#endif

#endif
