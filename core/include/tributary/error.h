/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and symbol visibility. Every fallible call returns 0 or -errno; calls that a person configures also
 * fill a sentence that says what was wrong and what to do. Thread safety: plain data, owned by the caller. */
#ifndef TRIBUTARY_ERROR_H
#define TRIBUTARY_ERROR_H

#define TRIB_EXPORT __attribute__((visibility("default")))

/* Around the declarations of every C header. */
#ifdef __cplusplus
#define TRIB_C_BEGIN extern "C" {
#define TRIB_C_END   }
#else
#define TRIB_C_BEGIN
#define TRIB_C_END
#endif

TRIB_C_BEGIN

struct trib_error {
    char text[512]; /* empty when the call succeeded; one sentence, no trailing newline */
};

/* Library version, "major.minor.patch". */
TRIB_EXPORT const char *trib_version(void);

TRIB_C_END
#endif
