/* SPDX-License-Identifier: Apache-2.0 */
#include "path/java_path.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "path/recall.h"
#include "vm/methods.h"
#include "vm/vm.h"

#define INNER_MAX 128u
#define OUTER_MAX (TRIB_JAVA_PATH_MAX - INNER_MAX)

/* ---- asking ---- */

static unsigned ask(jint start, unsigned most, jvmtiFrameInfo *frames) {
    jint count = 0;

    if ((*trib_vm.tool)->GetStackTrace(trib_vm.tool, NULL, start, (jint)most, frames, &count) != JVMTI_ERROR_NONE)
        return 0;
    return (unsigned)count;
}

void trib_java_stack(struct trib_java_stack *out) {
    jint depth = 0;

    out->count = ask(0, INNER_MAX, out->frame);
    if (out->count < INNER_MAX || (*trib_vm.tool)->GetFrameCount(trib_vm.tool, NULL, &depth) != JVMTI_ERROR_NONE ||
        depth <= (jint)INNER_MAX)
        return;
    jint outer = depth - (jint)OUTER_MAX;
    out->count += ask(outer > (jint)INNER_MAX ? outer : (jint)INNER_MAX, OUTER_MAX, out->frame + INNER_MAX);
}

uint64_t trib_java_stack_key(const struct trib_java_stack *stack) {
    uint64_t key = stack->count;

    for (unsigned i = 0; i < stack->count; i++)
        key = trib_recall_mix(key, (uintptr_t)stack->frame[i].method);
    return key;
}

/* ---- what counts ---- */

static unsigned keep(JNIEnv *env, const struct trib_java_stack *stack, bool noise, struct trib_frame *frames) {
    struct trib_method method;
    unsigned kept = 0;

    for (unsigned i = 0; i < stack->count; i++)
        if (trib_method_find(env, stack->frame[i].method, &method) && (noise || !method.noise))
            frames[kept++] = method.frame;
    return kept;
}

/* The framework whose method is the first that is not the JDK's, or java.util.logging before any; NULL: none. */
static const char *find_logger(JNIEnv *env, const struct trib_java_stack *stack) {
    struct trib_method method;

    for (unsigned i = 0; i < stack->count; i++)
        if (trib_method_find(env, stack->frame[i].method, &method) && (method.logger || !method.noise))
            return method.logger;
    return NULL;
}

static unsigned log_path(const char *logger, struct trib_frame *frame) {
    char name[64];

    snprintf(name, sizeof name, "java:%s", logger);
    (void)trib_signature_named_frame(name, frame);
    return 1;
}

unsigned trib_java_path(JNIEnv *env, const struct trib_jvm_options *options, const struct trib_java_stack *stack,
                        struct trib_frame *frames) {
    const char *logger = options->full ? NULL : find_logger(env, stack);

    if (logger)
        return log_path(logger, frames);
    unsigned ends = options->innermost + options->outermost, kept = keep(env, stack, false, frames);
    if (kept == 0)
        kept = keep(env, stack, true, frames);
    if (options->full || kept <= ends)
        return kept;
    memmove(frames + options->innermost, frames + kept - options->outermost, options->outermost * sizeof *frames);
    return ends;
}
