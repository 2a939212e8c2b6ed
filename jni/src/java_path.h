/* SPDX-License-Identifier: Apache-2.0 */
/* The Java part of a call path: JVMTI's frames of the calling thread without noise, both ends or all of them.
 * Thread safety: any thread that may be asked (vm.h). Takes 8 KiB of stack. */
#ifndef TRIB_JVM_JAVA_PATH_H
#define TRIB_JVM_JAVA_PATH_H

#include <jvmti.h>

#include <tributary/signature.h>

#include "options.h"

#define TRIB_JAVA_PATH_MAX 192u /* of a deeper stack the middle does not count */

/* Innermost first. Number of frames, at most TRIB_JAVA_PATH_MAX; 0: the thread runs no Java method. If all of them
 * are noise, they count; better a JDK's own path than none. */
unsigned trib_java_path(JNIEnv *env, const struct trib_jvm_options *options, struct trib_frame *frames);

#endif
