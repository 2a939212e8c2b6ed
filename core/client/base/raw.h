/* SPDX-License-Identifier: Apache-2.0 */
/* System calls past libc: they touch no errno, are no cancellation points, and no interposer or sanitizer sees them.
 * Async-signal-safe. Answer: as the kernel gives it, a negative number is -errno. */
#ifndef TRIB_BASE_RAW_H
#define TRIB_BASE_RAW_H

#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long trib_raw6(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline long trib_raw6(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#else
#error "no system calls for this processor"
#endif

/* clang-format off */
/* Up to six arguments, integers or pointers; those left out are 0. */
#define TRIB_RAW(...) TRIB_RAW_PICK(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0, )(__VA_ARGS__)
#define TRIB_RAW_PICK(n, a, b, c, d, e, f, count, ...) TRIB_RAW_##count
#define TRIB_RAW_6(n, a, b, c, d, e, f) \
    trib_raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define TRIB_RAW_5(n, a, b, c, d, e) TRIB_RAW_6(n, a, b, c, d, e, 0)
#define TRIB_RAW_4(n, a, b, c, d) TRIB_RAW_5(n, a, b, c, d, 0)
#define TRIB_RAW_3(n, a, b, c) TRIB_RAW_4(n, a, b, c, 0)
#define TRIB_RAW_2(n, a, b) TRIB_RAW_3(n, a, b, 0)
#define TRIB_RAW_1(n, a) TRIB_RAW_2(n, a, 0)
#define TRIB_RAW_0(n) TRIB_RAW_1(n, 0)
/* clang-format on */

#endif
