/* SPDX-License-Identifier: Apache-2.0 */
/* What the JVM calls: at its start (-agentpath:libtributary-jvm.so=key=value,...) and, any number of times, when
 * somebody attaches (jcmd PID JVMTI.agent_load): then the options are a command. Nothing ever goes to standard
 * output. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jvmti.h>

#include "base/line.h"
#include "copies.h"
#include "life.h"
#include "options.h"
#include "shim.h"
#include "status.h"

/* ---- status and dump ---- */

/* In one call of ours, which the shim does not record as it would stdio's. */
static bool put(const char *path, const char *text, size_t length) {
    int fd = *path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : STDERR_FILENO;
    bool whole = fd >= 0 && write(fd, text, length) == (ssize_t)length;

    if (fd >= 0 && fd != STDERR_FILENO)
        close(fd);
    return whole;
}

static jint print(const struct trib_jvm_options *options) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return JNI_ERR;
    trib_jvm_status_print(out);
    if (options->command == TRIB_JVM_DUMP)
        trib_jvm_signatures_print(out);
    fclose(out);
    bool whole = put(options->file, text, length);
    free(text);
    if (!whole)
        (void)trib_line((const char *[]){"cannot write ", options->file, NULL});
    return whole ? JNI_OK : JNI_ERR;
}

/* ---- entries ---- */

static jint refuse(const char *text, bool is_strict) {
    const char *then = is_strict ? "ends, as strict asks" : "runs without Tributary";

    (void)trib_line((const char *[]){text, "; the JVM ", then, NULL});
    return is_strict ? JNI_ERR : JNI_OK;
}

static jint begin(JavaVM *java, JNIEnv *env, const struct trib_jvm_options *options) {
    struct trib_error error = {.text = ""};

    if (trib_copies_is_second())
        return JNI_OK;
    int rc = trib_life_begin(java, env, options, &error);

    return rc ? refuse(error.text[0] ? error.text : strerror(-rc), options->strict) : JNI_OK;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *java, char *text, void *reserved) {
    struct trib_jvm_options options;
    struct trib_error error;

    (void)reserved;
    if (trib_jvm_options_parse(text ? text : "", &options, &error) != 0)
        return refuse(error.text, options.strict);
    if (options.command != TRIB_JVM_START)
        return refuse("status, dump and stop are for a JVM that runs", options.strict);
    return begin(java, NULL, &options);
}

/* What is wrong is the caller's to hear; the JVM goes on whatever this returns. */
JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *java, char *text, void *reserved) {
    struct trib_jvm_options options;
    struct trib_error error;
    JNIEnv *env = NULL;

    (void)reserved;
    if (trib_jvm_options_parse(text ? text : "", &options, &error) != 0) {
        (void)trib_line((const char *[]){error.text, "; nothing changes", NULL});
        return JNI_ERR;
    }
    if (options.command == TRIB_JVM_STATUS || options.command == TRIB_JVM_DUMP)
        return print(&options);
    if (options.command == TRIB_JVM_STOP) {
        trib_shim_pause(true);
        return JNI_OK;
    }
    if (trib_life_has_begun()) {
        trib_shim_pause(false);
        return JNI_OK;
    }
    if ((*java)->GetEnv(java, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    return begin(java, env, &options);
}
