/* SPDX-License-Identifier: Apache-2.0 */
/* Java methods by their jmethodID: the frame that stands for one, and whether it is noise. A fixed table; what does
 * not fit is asked for again each time. HotSpot gives no jmethodID to another method, also when its class is gone.
 * Thread safety: any thread that may be asked (vm.h). */
#ifndef TRIB_JVM_METHODS_H
#define TRIB_JVM_METHODS_H

#include <stdbool.h>

#include <jvmti.h>

#include <tributary/signature.h>

struct trib_method {
    struct trib_frame frame; /* of "java:pkg.Class.method(descriptor)" */
    bool noise;
    const char *logger; /* its logging framework; NULL: none */
};

/* False: its class is gone. */
bool trib_method_find(JNIEnv *env, jmethodID id, struct trib_method *out);

#endif
