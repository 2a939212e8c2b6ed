/* SPDX-License-Identifier: Apache-2.0 */
#include "java_api.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tributary/signature.h>

#include "life.h"
#include "path/tags.h"
#include "shim.h"
#include "status.h"
#include "tally.h"
#include "vm/vm.h"

#define CLASS          "Lio/tributary/Native;"
#define ROWS_MAX       8192u
#define LOADED_CLASSES 60000 /* announced only; HotSpot refuses more than 65536 */
#define NATIVE(result, name, ...)                                                                                      \
    JNIEXPORT result JNICALL Java_io_tributary_Native_##name(__VA_ARGS__);                                             \
    JNIEXPORT result JNICALL Java_io_tributary_Native_##name(__VA_ARGS__)

/* ---- tags ---- */

NATIVE(jboolean, meet, JNIEnv *env, jclass class) {
    (void)class;
    return trib_life_meet(env);
}

NATIVE(jint, intern, JNIEnv *env, jclass class, jstring name) {
    const char *text = (*env)->GetStringUTFChars(env, name, NULL);

    (void)class;
    if (!text)
        return 0; /* OutOfMemoryError is pending */
    uint32_t number = trib_tag_intern(text);
    (*env)->ReleaseStringUTFChars(env, name, text);
    return (jint)number;
}

NATIVE(jint, enter, JNIEnv *env, jclass class, jint tag) {
    jint before = (jint)trib_tag_here;

    (void)class;
    if (trib_vm_is_virtual(trib_vm_thread(env)))
        return -1;
    trib_tag_here = tag > 0 && tag <= (jint)TRIB_TAGS_MAX ? (uint32_t)tag : 0;
    return before;
}

/* ---- status ---- */

static jobjectArray strings(JNIEnv *env, unsigned count) {
    jclass class = (*env)->FindClass(env, "java/lang/String");

    return class ? (*env)->NewObjectArray(env, (jsize)count, class, NULL) : NULL;
}

/* False: OutOfMemoryError is pending. */
static bool set(JNIEnv *env, jobjectArray array, unsigned index, const char *text) {
    jstring string = (*env)->NewStringUTF(env, text);

    if (string)
        (*env)->SetObjectArrayElement(env, array, (jsize)index, string);
    (*env)->DeleteLocalRef(env, string);
    return string != NULL;
}

NATIVE(jobjectArray, status, JNIEnv *env, jclass class) {
    struct trib_jvm_status status;
    unsigned count = trib_jvm_status_read(&status);
    jobjectArray array = strings(env, 2 * count);

    (void)class;
    for (unsigned i = 0; i < count && array; i++)
        if (!set(env, array, 2 * i, status.pair[i].key) || !set(env, array, 2 * i + 1, status.pair[i].value))
            return NULL;
    return array;
}

struct rows {
    jlong value[3 * ROWS_MAX];
    jsize count;
};

static void add_row(void *arg, uint64_t signature, uint64_t writes, uint64_t bytes) {
    struct rows *rows = arg;

    if (rows->count + 3 > (jsize)(3 * ROWS_MAX))
        return;
    rows->value[rows->count++] = (jlong)signature;
    rows->value[rows->count++] = (jlong)writes;
    rows->value[rows->count++] = (jlong)bytes;
}

NATIVE(jlongArray, signatures, JNIEnv *env, jclass class) {
    struct rows rows = {.count = 0};

    (void)class;
    trib_tally_visit(add_row, &rows);
    jlongArray array = (*env)->NewLongArray(env, rows.count);
    if (array)
        (*env)->SetLongArrayRegion(env, array, 0, rows.count, rows.value);
    return array;
}

NATIVE(jobjectArray, frames, JNIEnv *env, jclass class, jlong signature) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    unsigned count = trib_signature_frames((uint64_t)signature, frames, TRIB_SIGNATURE_DEPTH_MAX);
    jobjectArray array = strings(env, count);
    char text[512];

    (void)class;
    for (unsigned i = 0; i < count && array; i++) {
        trib_jvm_frame_text(&frames[i], text, sizeof text);
        if (!set(env, array, i, text))
            return NULL;
    }
    return array;
}

NATIVE(void, pause, JNIEnv *env, jclass class, jboolean pause) {
    (void)env, (void)class;
    trib_shim_pause(pause);
}

/* ---- copies of the class that are there already ---- */

static void offer_to(JNIEnv *env, jclass class) {
    static const JNINativeMethod methods[] = {
        {(char *)"meet", (char *)"()Z", (void *)Java_io_tributary_Native_meet},
        {(char *)"intern", (char *)"(Ljava/lang/String;)I", (void *)Java_io_tributary_Native_intern},
        {(char *)"enter", (char *)"(I)I", (void *)Java_io_tributary_Native_enter},
        {(char *)"status", (char *)"()[Ljava/lang/String;", (void *)Java_io_tributary_Native_status},
        {(char *)"signatures", (char *)"()[J", (void *)Java_io_tributary_Native_signatures},
        {(char *)"frames", (char *)"(J)[Ljava/lang/String;", (void *)Java_io_tributary_Native_frames},
        {(char *)"pause", (char *)"(Z)V", (void *)Java_io_tributary_Native_pause},
    };
    jmethodID attached = NULL;

    if ((*env)->RegisterNatives(env, class, methods, sizeof methods / sizeof *methods) == JNI_OK)
        attached = (*env)->GetStaticMethodID(env, class, "attached", "()V");
    if (attached)
        (*env)->CallStaticVoidMethod(env, class, attached);
    (*env)->ExceptionClear(env); /* another version of the jar */
}

static bool is_ours(jclass class) {
    char *signature = NULL;
    bool is = (*trib_vm.tool)->GetClassSignature(trib_vm.tool, class, &signature, NULL) == JVMTI_ERROR_NONE &&
              strcmp(signature, CLASS) == 0;

    if (signature)
        (*trib_vm.tool)->Deallocate(trib_vm.tool, (unsigned char *)signature);
    return is;
}

void trib_java_api_offer(JNIEnv *env) {
    jclass *classes = NULL;
    jint count = 0;

    if ((*env)->PushLocalFrame(env, LOADED_CLASSES) != JNI_OK)
        return;
    if ((*trib_vm.tool)->GetLoadedClasses(trib_vm.tool, &count, &classes) == JVMTI_ERROR_NONE) {
        for (jint i = 0; i < count; i++)
            if (is_ours(classes[i]))
                offer_to(env, classes[i]);
        (*trib_vm.tool)->Deallocate(trib_vm.tool, (unsigned char *)classes);
    }
    (*env)->PopLocalFrame(env, NULL);
}
