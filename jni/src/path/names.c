/* SPDX-License-Identifier: Apache-2.0 */
#include "path/names.h"

#include <string.h>

/* Cuts `name` where `mark` begins; a mark at the very beginning is no tail. */
static void cut_at(char *name, const char *mark) {
    char *at = strstr(name, mark);

    if (at && at > name)
        *at = '\0';
}

void trib_java_class_name(const char *signature, char *name, size_t capacity) {
    static const char *const generated[] = {"$$EnhancerBy", "$$SpringCGLIB", "$$FastClassBy", "$ByteBuddy$",
                                            "$MockitoMock$"};
    size_t length = 0;

    if (*signature == 'L')
        signature++;
    /* A hidden class has its address behind a '/' (JDK 15 to 20, from the class name) or a '.' (JVMTI). */
    for (; *signature && *signature != ';' && length + 1 < capacity; signature++)
        name[length++] = *signature == '/' ? '.' : *signature;
    name[length] = '\0';
    cut_at(name, ".0x");
    for (size_t i = 0; i < sizeof generated / sizeof *generated; i++)
        cut_at(name, generated[i]);
}

static bool begins_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "com.sun.proxy.$Proxy12", "jdk.proxy2.$Proxy12", "org.x.$Proxy12": a number and nothing else behind. */
static bool is_proxy(const char *name) {
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    size_t digits = begins_with(last, "$Proxy") ? strspn(last + 6, "0123456789") : 0;

    return digits > 0 && last[6 + digits] == '\0';
}

bool trib_java_is_noise(const char *name) {
    static const char *const jdk[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};

    for (size_t i = 0; i < sizeof jdk / sizeof *jdk; i++)
        if (begins_with(name, jdk[i]))
            return true;
    return strstr(name, "$$Lambda") || is_proxy(name);
}

const char *trib_java_logger(const char *name) {
    static const char *const frameworks[] = {"ch.qos.logback", "org.apache.logging.log4j", "org.apache.log4j",
                                             "org.slf4j",      "java.util.logging",        "org.jboss.logmanager",
                                             "org.tinylog"};

    for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++)
        if (begins_with(name, frameworks[i]) && name[strlen(frameworks[i])] == '.')
            return frameworks[i];
    return NULL;
}
