/* SPDX-License-Identifier: Apache-2.0 */
/* The Java virtual machine of this process, and whether the calling thread may be asked for its Java frames.
 *
 * It may if the VM lives, the thread is one of Java's and runs native code: there JVMTI is legal. A thread inside
 * the VM (its own logs, class data, compiler threads) never is asked. Thread safety: any thread. */
#ifndef TRIB_JVM_VM_H
#define TRIB_JVM_VM_H

#include <stdbool.h>

#include <jvmti.h>

#include "vm/hotspot.h"

struct trib_vm {
    jvmtiEnv *tool;
    struct trib_hotspot hotspot;
    int release;         /* 17 */
    char version[64];    /* "17.0.15" */
    char libraries[512]; /* the JDK's folder of libraries, with a slash at its end; empty = not found */
};

extern struct trib_vm trib_vm;

/* A JVM came to life, or lives already: asks for what is needed. On a Java thread in native code. 0; -ENOTSUP (with a
 * sentence in `why`): Java frames cannot be had. Repeated calls do nothing. */
int trib_vm_meet(JavaVM *java, JNIEnv *env, char why[160]);

/* It is about to end. */
void trib_vm_leave(void);

bool trib_vm_lives(void);

/* This thread of Java begins, or ends: its environment is `env`, or NULL. */
void trib_vm_here(JNIEnv *env);

/* The calling thread's environment if it may be asked now, else NULL. A few nanoseconds. */
JNIEnv *trib_vm_may_ask(void);

/* Whether that thread carries a virtual thread now. */
bool trib_vm_is_virtual(const char *thread);

/* What belongs to `env`: HotSpot's JavaThread. */
const char *trib_vm_thread(JNIEnv *env);

#endif
