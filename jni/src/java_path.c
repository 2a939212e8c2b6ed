/* SPDX-License-Identifier: Apache-2.0 */
#include "java_path.h"

#include <stdbool.h>
#include <string.h>

#include "methods.h"
#include "vm.h"

#define INNER_MAX 128u
#define OUTER_MAX (TRIB_JAVA_PATH_MAX - INNER_MAX)

static unsigned ask(jint start, unsigned most, jvmtiFrameInfo *frames) {
    jint count = 0;

    if ((*trib_vm.tool)->GetStackTrace(trib_vm.tool, NULL, start, (jint)most, frames, &count) != JVMTI_ERROR_NONE)
        return 0;
    return (unsigned)count;
}

static unsigned ask_both_ends(jvmtiFrameInfo *frames) {
    unsigned count = ask(0, INNER_MAX, frames);
    jint depth = 0;

    if (count < INNER_MAX ||
        (*trib_vm.tool)->GetFrameCount(trib_vm.tool, NULL, &depth) != JVMTI_ERROR_NONE || depth <= (jint)INNER_MAX)
        return count;
    jint outer = depth - (jint)OUTER_MAX;
    return count + ask(outer > (jint)INNER_MAX ? outer : (jint)INNER_MAX, OUTER_MAX, frames + INNER_MAX);
}

static unsigned keep(JNIEnv *env, const jvmtiFrameInfo *asked, unsigned count, bool noise, struct trib_frame *frames) {
    struct trib_method method;
    unsigned kept = 0;

    for (unsigned i = 0; i < count; i++)
        if (trib_method_find(env, asked[i].method, &method) && (noise || !method.noise))
            frames[kept++] = method.frame;
    return kept;
}

unsigned trib_java_path(JNIEnv *env, const struct trib_jvm_options *options, struct trib_frame *frames) {
    jvmtiFrameInfo asked[TRIB_JAVA_PATH_MAX];
    unsigned ends = options->innermost + options->outermost, count = ask_both_ends(asked);
    unsigned kept = keep(env, asked, count, false, frames);

    if (kept == 0)
        kept = keep(env, asked, count, true, frames);
    if (options->full || kept <= ends)
        return kept;
    memmove(frames + options->innermost, frames + kept - options->outermost, options->outermost * sizeof *frames);
    return ends;
}
