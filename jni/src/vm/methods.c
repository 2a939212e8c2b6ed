/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/methods.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "path/names.h"
#include "vm/vm.h"

#define SLOTS  32768u /* methods seen on the stacks of writers: Cassandra has about a thousand */
#define PROBES 16u
#define PREFIX "java:"

struct slot {
    _Atomic(uintptr_t) id;  /* 0 = free */
    _Atomic(bool) is_whole; /* the rest is there */
    struct trib_method method;
};

static struct slot slots[SLOTS];

/* ---- asking ---- */

static void give_back(void *text) {
    if (text)
        (*trib_vm.tool)->Deallocate(trib_vm.tool, text);
}

static bool ask_class(JNIEnv *env, jmethodID id, char **signature) {
    jclass class = NULL;

    if ((*trib_vm.tool)->GetMethodDeclaringClass(trib_vm.tool, id, &class) != JVMTI_ERROR_NONE)
        return false;
    jvmtiError error = (*trib_vm.tool)->GetClassSignature(trib_vm.tool, class, signature, NULL);
    (*env)->DeleteLocalRef(env, class);
    return error == JVMTI_ERROR_NONE;
}

static bool ask(JNIEnv *env, jmethodID id, struct trib_method *out) {
    char class[TRIB_JAVA_NAME_BYTES], full[2 * TRIB_JAVA_NAME_BYTES];
    char *signature = NULL, *name = NULL, *descriptor = NULL;
    bool known = ask_class(env, id, &signature) &&
                 (*trib_vm.tool)->GetMethodName(trib_vm.tool, id, &name, &descriptor, NULL) == JVMTI_ERROR_NONE;

    if (known) {
        trib_java_class_name(signature, class, sizeof class);
        snprintf(full, sizeof full, PREFIX "%s.%s%s", class, name, descriptor);
        out->noise = trib_java_is_noise(class);
        out->logger = trib_java_logger(class);
        (void)trib_signature_named_frame(full, &out->frame);
    }
    give_back(signature);
    give_back(name);
    give_back(descriptor);
    return known;
}

/* ---- the table ---- */

static struct slot *slot_at(uintptr_t id, unsigned probe) {
    return &slots[((id * 0x9E3779B97F4A7C15ull >> 40) + probe) % SLOTS];
}

static void keep(uintptr_t id, const struct trib_method *method) {
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct slot *slot = slot_at(id, probe);
        uintptr_t present = 0;
        if (atomic_compare_exchange_strong(&slot->id, &present, id)) {
            slot->method = *method;
            atomic_store_explicit(&slot->is_whole, true, memory_order_release);
            return;
        }
        if (present == id)
            return;
    }
}

bool trib_method_find(JNIEnv *env, jmethodID method, struct trib_method *out) {
    uintptr_t id = (uintptr_t)method;

    for (unsigned probe = 0; probe < PROBES; probe++) {
        const struct slot *slot = slot_at(id, probe);
        uintptr_t present = atomic_load_explicit(&slot->id, memory_order_acquire);
        if (present == id && atomic_load_explicit(&slot->is_whole, memory_order_acquire)) {
            *out = slot->method;
            return true;
        }
        if (present == 0)
            break;
    }
    if (!ask(env, method, out))
        return false;
    keep(id, out);
    return true;
}
