/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/vm.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/libjvm.h"

struct trib_vm trib_vm;

static JavaVM *machine;
static ptrdiff_t thread_to_env; /* bytes from a JavaThread to its JNIEnv */
static _Atomic(bool) alive;

/* ---- one time ---- */

static void read_version(void) {
    char *text = NULL;

    if ((*trib_vm.tool)->GetSystemProperty(trib_vm.tool, "java.vm.specification.version", &text) == JVMTI_ERROR_NONE) {
        trib_vm.release = atoi(text);
        (*trib_vm.tool)->Deallocate(trib_vm.tool, (unsigned char *)text);
    }
    if ((*trib_vm.tool)->GetSystemProperty(trib_vm.tool, "java.vm.version", &text) == JVMTI_ERROR_NONE) {
        snprintf(trib_vm.version, sizeof trib_vm.version, "%s", text);
        (*trib_vm.tool)->Deallocate(trib_vm.tool, (unsigned char *)text);
    }
}

/* .../lib/server/libjvm.so -> .../lib/ */
static void find_libraries(void) {
    char *path = trib_vm.libraries;

    snprintf(path, sizeof trib_vm.libraries, "%s", trib_libjvm_path());
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash) {
            *path = '\0';
            return;
        }
        slash[up == 0 ? 0 : 1] = '\0';
    }
}

/* java.lang.Thread.eetop is the address of its JavaThread in every HotSpot. A virtual thread has none; its carrier
 * does. */
static bool find_thread(JNIEnv *env) {
    jclass class = (*env)->FindClass(env, "java/lang/Thread");
    jmethodID current = class ? (*env)->GetStaticMethodID(env, class, "currentThread", "()Ljava/lang/Thread;") : NULL;
    jfieldID address = current ? (*env)->GetFieldID(env, class, "eetop", "J") : NULL;
    jobject thread = address ? (*env)->CallStaticObjectMethod(env, class, current) : NULL;
    jlong found = thread && !(*env)->ExceptionCheck(env) ? (*env)->GetLongField(env, thread, address) : 0;

    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, thread);
    (*env)->DeleteLocalRef(env, class);
    thread_to_env = (const char *)env - (const char *)(intptr_t)found;
    return found != 0;
}

static int32_t state_of(const char *thread) {
    return *(const volatile int32_t *)(const void *)(thread + trib_vm.hotspot.thread_state);
}

static int refuse(char why[160], const char *text) {
    snprintf(why, 160, "%s", text);
    return -ENOTSUP;
}

int trib_vm_meet(JavaVM *java, JNIEnv *env, char why[160]) {
    if (atomic_load(&alive))
        return 0;
    if (!trib_vm.tool && (*java)->GetEnv(java, (void **)&trib_vm.tool, JVMTI_VERSION_1_2) != JNI_OK)
        return refuse(why, "this JVM has no JVMTI");
    machine = java;
    read_version();
    find_libraries();
    if (trib_vm.release < 11 || trib_hotspot_read(trib_vm.release, &trib_vm.hotspot) != 0)
        return refuse(why, "this is no HotSpot of release 11 or later");
    if (!find_thread(env))
        return refuse(why, "this JVM hides its threads");
    /* A callback of JVMTI, or a native method: both are native code. */
    if (state_of(trib_vm_thread(env)) != trib_vm.hotspot.in_native)
        return refuse(why, "this JVM's thread states are not what it says");
    trib_hotspot_read_code(&trib_vm.hotspot);
    atomic_store_explicit(&alive, true, memory_order_release);
    return 0;
}

void trib_vm_leave(void) {
    atomic_store(&alive, false);
}

/* ---- per write ---- */

const char *trib_vm_thread(JNIEnv *env) {
    return (const char *)env - thread_to_env;
}

bool trib_vm_is_virtual(const char *thread) {
    uintptr_t innermost = 0;

    if (trib_vm.hotspot.continuation >= 0)
        memcpy(&innermost, thread + trib_vm.hotspot.continuation, sizeof innermost);
    return innermost != 0;
}

/* Known from the thread's beginning to its end; of threads that began before us the VM is asked each time, because
 * one that detaches would leave us a dead one. */
static _Thread_local JNIEnv *here;

void trib_vm_here(JNIEnv *env) {
    here = env;
}

bool trib_vm_lives(void) {
    return atomic_load_explicit(&alive, memory_order_acquire);
}

JNIEnv *trib_vm_may_ask(void) {
    JNIEnv *env = here;

    if (!trib_vm_lives() || (!env && (*machine)->GetEnv(machine, (void **)&env, JNI_VERSION_1_6) != JNI_OK))
        return NULL;
    return state_of(trib_vm_thread(env)) == trib_vm.hotspot.in_native ? env : NULL;
}
