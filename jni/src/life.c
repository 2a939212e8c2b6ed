/* SPDX-License-Identifier: Apache-2.0 */
#include "life.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/line.h"
#include "copies.h"
#include "identify.h"
#include "java_api.h"
#include "patch/objects.h"
#include "path/memo.h"
#include "shim.h"
#include "vm/libjvm.h"
#include "vm/vm.h"

#define LOOKS_EARLY 1024u /* before, writes that are a power of two look for a VM; from then on, one in as many */

const char *const trib_copies_symbol = "Java_io_tributary_Native_meet";

static struct trib_jvm_options settings;
static _Atomic(bool) has_begun, has_met, is_meeting;
static _Atomic(unsigned) writes_without;
static bool is_preloaded;
static pthread_mutex_t patching = PTHREAD_MUTEX_INITIALIZER;
static char java_frames[160] = "no JVM yet";

bool trib_life_has_begun(void) {
    return atomic_load(&has_begun);
}

const char *trib_life_java_frames(void) {
    return java_frames;
}

/* ---- libraries that come later ---- */

static int read_loads(struct dl_phdr_info *info, size_t size, void *loads) {
    (void)size;
    *(unsigned long long *)loads = info->dlpi_adds;
    return 1;
}

/* Preloaded, the loader does this; with wrong options nobody. Never waits: a thread that opens a library holds the
 * loader's lock, which patching asks for. Whoever patches now looks again. */
static void patch_new_libraries(void) {
    static unsigned long long patched;
    unsigned long long loads = 0, seen;

    if (is_preloaded || !atomic_load(&has_begun))
        return;
    do {
        if (pthread_mutex_trylock(&patching) != 0)
            return;
        dl_iterate_phdr(read_loads, &loads);
        int slots = loads == patched ? 0 : trib_shim_patch_imports();
        if (slots < 0 && patched == 0)
            (void)trib_line((const char *[]){"this program's imports cannot be changed (", strerror(-slots),
                                             "); preload the library instead", NULL});
        patched = seen = loads;
        pthread_mutex_unlock(&patching);
        dl_iterate_phdr(read_loads, &loads);
    } while (loads != seen);
}

/* ---- the VM's events ---- */

/* The first native method of a library is bound when the library is there and has not been called. */
static void JNICALL native_bound(jvmtiEnv *tool, JNIEnv *env, jthread thread, jmethodID method, void *address,
                                 void **other) {
    (void)tool, (void)env, (void)thread, (void)method, (void)address, (void)other;
    patch_new_libraries();
}

/* No lock: what this asks of Java binds methods, which calls us back. */
static void meet(JavaVM *java, JNIEnv *env) {
    char why[sizeof java_frames];

    if (atomic_exchange(&is_meeting, true))
        return;
    int rc = trib_vm_meet(java, env, why);
    snprintf(java_frames, sizeof java_frames, "%s", rc ? why : "on");
    if (rc)
        (void)trib_line((const char *[]){java_frames, ": call paths are native ones only", NULL});
    else
        trib_jvm_identify_fast();
    trib_memo_begin();
    atomic_store(&has_met, true);
}

static void JNICALL vm_began(jvmtiEnv *tool, JNIEnv *env, jthread thread) {
    JavaVM *java;

    (void)tool, (void)thread;
    if ((*env)->GetJavaVM(env, &java) == 0)
        meet(java, env);
    patch_new_libraries();
}

static void JNICALL vm_ends(jvmtiEnv *tool, JNIEnv *env) {
    (void)tool, (void)env;
    trib_vm_leave();
}

static void JNICALL thread_began(jvmtiEnv *tool, JNIEnv *env, jthread thread) {
    (void)tool, (void)thread;
    trib_vm_here(env);
    trib_memo_begin();
}

static void JNICALL thread_ends(jvmtiEnv *tool, JNIEnv *env, jthread thread) {
    (void)tool, (void)env, (void)thread;
    trib_memo_end();
    trib_vm_here(NULL);
}

static void JNICALL code_gone(jvmtiEnv *tool, jmethodID method, const void *address) {
    (void)tool, (void)method, (void)address;
    trib_jvm_identify_forget();
}

/* HotSpot's own event: of classes whose methods only ever were interpreted no code goes. */
static void JNICALL class_gone(jvmtiEnv *tool, ...) {
    (void)tool;
    trib_jvm_identify_forget();
}

static void watch_classes(jvmtiEnv *tool) {
    jvmtiExtensionEventInfo *events = NULL;
    jint count = 0;

    if ((*tool)->GetExtensionEvents(tool, &count, &events) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        if (strcmp(events[i].id, "com.sun.hotspot.events.ClassUnload") == 0)
            (*tool)->SetExtensionEventCallback(tool, events[i].extension_event_index, class_gone);
        for (jint p = 0; p < events[i].param_count; p++)
            (*tool)->Deallocate(tool, (unsigned char *)events[i].params[p].name);
        (*tool)->Deallocate(tool, (unsigned char *)events[i].id);
        (*tool)->Deallocate(tool, (unsigned char *)events[i].short_description);
        (*tool)->Deallocate(tool, (unsigned char *)events[i].params);
    }
    (*tool)->Deallocate(tool, (unsigned char *)events);
}

static bool listen(JavaVM *java) {
    static const jvmtiEvent events[] = {
        JVMTI_EVENT_VM_INIT,    JVMTI_EVENT_VM_DEATH,           JVMTI_EVENT_THREAD_START,
        JVMTI_EVENT_THREAD_END, JVMTI_EVENT_NATIVE_METHOD_BIND, JVMTI_EVENT_COMPILED_METHOD_UNLOAD};
    jvmtiCapabilities wanted = {.can_generate_native_method_bind_events = 1,
                                .can_generate_compiled_method_load_events = 1};
    jvmtiEventCallbacks callbacks = {.VMInit = vm_began,
                                     .VMDeath = vm_ends,
                                     .ThreadStart = thread_began,
                                     .ThreadEnd = thread_ends,
                                     .NativeMethodBind = native_bound,
                                     .CompiledMethodUnload = code_gone};
    jvmtiEnv *tool = NULL;

    if ((*java)->GetEnv(java, (void **)&tool, JVMTI_VERSION_1_2) != JNI_OK ||
        (*tool)->AddCapabilities(tool, &wanted) != JVMTI_ERROR_NONE ||
        (*tool)->SetEventCallbacks(tool, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE)
        return false;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if ((*tool)->SetEventNotificationMode(tool, JVMTI_ENABLE, events[i], NULL) != JVMTI_ERROR_NONE)
            return false;
    watch_classes(tool);
    trib_vm.tool = tool;
    return true;
}

/* ---- beginnings ---- */

/* The VM first: what is recorded from the first moment on has Java frames. */
int trib_life_begin(JavaVM *java, JNIEnv *env, const struct trib_jvm_options *options, struct trib_error *error) {
    settings = *options;
    trib_jvm_identify_as(&settings);
    (void)trib_libjvm_resolve();
    if (!trib_vm.tool && !listen(java)) {
        snprintf(java_frames, sizeof java_frames, "this JVM refuses JVMTI's events");
        (void)trib_line((const char *[]){java_frames, ": call paths are native ones only", NULL});
    } else if (env) {
        meet(java, env);
    }
    trib_shim_identify_with(trib_jvm_identify);
    int rc = trib_shim_start(options->pipeline, error);
    if (rc) {
        trib_options_add_valid(error, trib_jvm_option_specs);
        return rc;
    }
    atomic_store(&has_begun, true);
    patch_new_libraries();
    if (env && trib_vm.tool)
        trib_java_api_offer(env);
    return 0;
}

__attribute__((constructor)) static void load(void) {
    const char *text = secure_getenv("TRIBUTARY_JVM");
    struct trib_error error;

    trib_line_start();
    is_preloaded = trib_loaded_early();
    if (!is_preloaded || trib_copies_is_second())
        return;
    if (trib_jvm_options_parse(text ? text : "", &settings, &error) != 0)
        (void)trib_line((const char *[]){"TRIBUTARY_JVM: ", error.text, NULL});
    trib_jvm_identify_as(&settings);
    trib_shim_identify_with(trib_jvm_identify);
}

static void look(void) {
    jint (*created)(JavaVM * *machines, jsize capacity, jsize * count);
    JavaVM *java = NULL;
    JNIEnv *env = NULL;
    jsize count = 0;

    *(void **)&created = trib_libjvm_symbol("JNI_GetCreatedJavaVMs");
    if (!created || created(&java, 1, &count) != JNI_OK || count == 0 ||
        (*java)->GetEnv(java, (void **)&env, JNI_VERSION_1_6) != JNI_OK || (*env)->ExceptionCheck(env))
        return;
    if (listen(java)) {
        meet(java, env);
        trib_java_api_offer(env);
    }
}

bool trib_life_meet(JNIEnv *env) {
    JavaVM *java;

    (void)trib_libjvm_resolve();
    if (is_preloaded && !trib_vm.tool && (*env)->GetJavaVM(env, &java) == 0 && listen(java))
        meet(java, env);
    return (is_preloaded || atomic_load(&has_begun)) && trib_vm_may_ask();
}

void trib_life_look_for_vm(void) {
    unsigned writes;

    if (!is_preloaded || !trib_libjvm_is_there() || atomic_load_explicit(&has_met, memory_order_relaxed) ||
        trib_vm.tool)
        return;
    writes = atomic_fetch_add_explicit(&writes_without, 1, memory_order_relaxed) + 1;
    if (writes < LOOKS_EARLY ? !(writes & (writes - 1)) : writes % LOOKS_EARLY == 0)
        look();
}
