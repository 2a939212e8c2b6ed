/* SPDX-License-Identifier: Apache-2.0 */
/* The Java part of a call path: JVMTI's frames of the calling thread without noise, both ends or all of them.
 * Thread safety: any thread that may be asked (vm.h). */
#ifndef TRIB_JVM_JAVA_PATH_H
#define TRIB_JVM_JAVA_PATH_H

#include <jvmti.h>

#include <tributary/signature.h>

#include "options.h"

#define TRIB_JAVA_PATH_MAX 192u /* of a deeper stack the middle does not count */

/* 3 KiB. */
struct trib_java_stack {
    unsigned count;
    jvmtiFrameInfo frame[TRIB_JAVA_PATH_MAX]; /* innermost first */
};

/* Asks JVMTI. No frames: the thread runs no Java method. */
void trib_java_stack(struct trib_java_stack *out);

/* Equal keys mean equal methods in equal order. */
uint64_t trib_java_stack_key(const struct trib_java_stack *stack);

/* What of `stack` counts, innermost first; at most TRIB_JAVA_PATH_MAX frames. If all of them are noise, they count:
 * better a JDK's own path than none. With path=ends what a logging framework writes has one frame, the framework's:
 * whoever had something to say, its log lives as long. */
unsigned trib_java_path(JNIEnv *env, const struct trib_jvm_options *options, const struct trib_java_stack *stack,
                        struct trib_frame *frames);

#endif
