/* SPDX-License-Identifier: Apache-2.0 */
/* The native half of the optional jar (jni/java, io.tributary.Native). */
#ifndef TRIB_JVM_JAVA_API_H
#define TRIB_JVM_JAVA_API_H

#include <jni.h>

/* The VM has been met: tells copies of the jar's class that were loaded before this library came. */
void trib_java_api_offer(JNIEnv *env);

#endif
