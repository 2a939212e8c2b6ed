/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a policy pack: a shared object with one exported table (tributary/policy.h). It is never unloaded, because
 * pipelines keep pointers into it. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tributary/policy.h>

/* dlerror's sentence without the path that it may begin with, which ours has already. */
static const char *reason(const char *path) {
    const char *said = dlerror();
    size_t length = strlen(path);

    if (!said)
        return "no reason given";
    return !strncmp(said, path, length) && !strncmp(said + length, ": ", 2) ? said + length + 2 : said;
}

static int add(void *library, const char *path, struct trib_error *error) {
    const struct trib_policy_pack *pack = dlsym(library, TRIB_POLICY_PACK_SYMBOL);
    struct trib_error why = {""};

    if (!pack)
        return trib_fail(error, -ENOEXEC, "policy pack %s: exports no table '%s'", path, TRIB_POLICY_PACK_SYMBOL);
    int code = trib_policies_add(pack, &why);
    return code ? trib_fail(error, code, "policy pack %s: %s", path, why.text) : 0;
}

int trib_policy_pack_load(const char *path, struct trib_error *error) {
    /* Whole, or the loader would look for a name without a slash in its own folders. */
    char *whole = realpath(path, NULL);

    if (!whole)
        return trib_fail(error, -errno, "policy pack %s: %s", path, strerror(errno));
    void *library = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
    int code =
        library ? add(library, path, error) : trib_fail(error, -ENOEXEC, "policy pack %s: %s", path, reason(whole));
    if (code && library)
        dlclose(library);
    free(whole);
    return code;
}
