/* SPDX-License-Identifier: Apache-2.0 */
/* One thread loads and unloads shared objects while others write, or while one loads the library late and patches
 * imports again and again (`late LIBRARY`). The modules lie beside this program. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "hazard.h"

#define LOADS 3000

static char folder[PATH_MAX];
static atomic_int ended, failures;

static void *load(void *unused) {
    (void)unused;
    for (int i = 0; i < LOADS; i++) {
        char path[PATH_MAX + 32];
        snprintf(path, sizeof path, "%s/hazard_module%d.so", folder, i % 4);
        void *module = dlopen(path, RTLD_NOW);
        int (*call)(int) = module ? (int (*)(int))dlsym(module, "hazard_module") : NULL;
        failures += !call || call(0) != 0;
        if (module)
            dlclose(module);
    }
    atomic_store(&ended, 1);
    return NULL;
}

static void *write_once(void *name) {
    failures += !write_one(name);
    return NULL;
}

static void *write_all_the_time(void *name) {
    while (!atomic_load(&ended))
        failures += !write_one(name);
    return NULL;
}

/* Each of its threads is new to the library, and its first write may resolve or walk something. */
static void *start_threads(void *unused) {
    (void)unused;
    while (!atomic_load(&ended)) {
        pthread_t thread;
        static char name[] = "short";
        if (pthread_create(&thread, NULL, write_once, name) == 0)
            pthread_join(thread, NULL);
    }
    return NULL;
}

static int beside_writers(void) {
    pthread_t threads[3];
    static char name[] = "writer";

    pthread_create(&threads[0], NULL, load, NULL);
    pthread_create(&threads[1], NULL, write_all_the_time, name);
    pthread_create(&threads[2], NULL, start_threads, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    say("%d failures\n", (int)failures);
    return 0;
}

static int late(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    int (*patch)(void) = library ? (int (*)(void))dlsym(library, "trib_shim_patch_imports") : NULL;
    pthread_t loader;

    if (!patch)
        return not_possible("this library patches no imports");
    pthread_create(&loader, NULL, load, NULL);
    while (!atomic_load(&ended)) {
        if (patch() < 0)
            failures++;
        failures += !write_one("late");
    }
    pthread_join(loader, NULL);
    say("%d failures\n", (int)failures);
    return 0;
}

int main(int count, char **values) {
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);

    *strrchr(folder, '/') = '\0';
    if (count < 2 || length < 0)
        return 100;
    return strcmp(values[1], "late") == 0 && count > 2 ? late(values[2]) : beside_writers();
}
