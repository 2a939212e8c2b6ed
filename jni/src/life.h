/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter's life in this process: preloaded, loaded as an agent, or attached; and the VM's life around it. */
#ifndef TRIB_JVM_LIFE_H
#define TRIB_JVM_LIFE_H

#include <stdbool.h>

#include <jvmti.h>

#include <tributary/error.h>

#include "options.h"

/* Loaded as an agent. `env`: of a VM that runs already, else NULL. 0, or -errno with a sentence: nothing is recorded,
 * and it may be tried again. */
int trib_life_begin(JavaVM *java, JNIEnv *env, const struct trib_jvm_options *options, struct trib_error *error);

bool trib_life_has_begun(void);

/* Preloaded, nobody says when a VM comes to life: now and then a write looks for one. */
void trib_life_look_for_vm(void);

/* A Java thread, in native code, wants its own VM met. True: what it writes is recorded from now on, with Java frames.
 */
bool trib_life_meet(JNIEnv *env);

/* "on", or why there are no Java frames. */
const char *trib_life_java_frames(void);

#endif
