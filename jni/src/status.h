/* SPDX-License-Identifier: Apache-2.0 */
/* What this adapter says of itself, as keys and values: one list for the status command and for the MXBean. */
#ifndef TRIB_JVM_STATUS_H
#define TRIB_JVM_STATUS_H

#include <stddef.h>
#include <stdio.h>

#include <tributary/signature.h>

#define TRIB_JVM_STATUS_PAIRS_MAX 32u

struct trib_jvm_status {
    struct {
        const char *key;
        char value[288];
    } pair[TRIB_JVM_STATUS_PAIRS_MAX];
};

/* Returns the number of pairs. */
unsigned trib_jvm_status_read(struct trib_jvm_status *out);

void trib_jvm_status_print(FILE *out);

/* Every signature with writes, bytes and frames. */
void trib_jvm_signatures_print(FILE *out);

void trib_jvm_frame_text(const struct trib_frame *frame, char *text, size_t capacity);

#endif
