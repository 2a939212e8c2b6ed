/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel itself, past everything that stands in front of libc: no errno, no cancellation point, no other interposer. All that
 * the shim asks on its own account goes this way, and only while trib_may_ask() (quiet.h). */
#ifndef TRIB_PRELOAD_RAW_H
#define TRIB_PRELOAD_RAW_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As syscall(2): -1 and errno on failure. For what the program asked for. */
long trib_syscall(long number, ...) __attribute__((visibility("hidden")));

/* The kernel's own answer: a result, or -errno. */
static inline long trib_raw(long number, const long arguments[6]) {
#if defined(__x86_64__)
    register long fourth __asm__("r10") = arguments[3];
    register long fifth __asm__("r8") = arguments[4];
    register long sixth __asm__("r9") = arguments[5];
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long name __asm__("x8") = number;
    register long result __asm__("x0") = arguments[0];
    register long second __asm__("x1") = arguments[1];
    register long third __asm__("x2") = arguments[2];
    register long fourth __asm__("x3") = arguments[3];
    register long fifth __asm__("x4") = arguments[4];
    register long sixth __asm__("x5") = arguments[5];

    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(name), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory");
    return result;
#else
#error "no way into the kernel on this machine"
#endif
}

/* Up to six arguments, numbers or pointers. */
#define TRIB_RAW_LONGS(a_, b_, c_, d_, e_, f_, ...)                                                                    \
    ((const long[6]){(long)(a_), (long)(b_), (long)(c_), (long)(d_), (long)(e_), (long)(f_)})
#define TRIB_RAW(number_, ...) trib_raw((number_), TRIB_RAW_LONGS(__VA_ARGS__, 0, 0, 0, 0, 0, 0))

static inline int trib_raw_fstat(int fd, struct stat *out) {
    return (int)TRIB_RAW(SYS_fstat, fd, out);
}

/* As libc returns it: errno, too. */
static inline long trib_raw_result(long result) {
    extern int *__errno_location(void) __attribute__((const));

    if (result >= -4095 && result < 0) {
        *__errno_location() = (int)-result;
        return -1;
    }
    return result;
}

#endif
