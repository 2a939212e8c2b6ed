/* SPDX-License-Identifier: Apache-2.0 */
/* The preload library loaded into a running program. race LIBRARY SECONDS PLUGIN...: threads open and close plugins while
 * others point imports at the library; 3 if nobody moves any more. write LIBRARY FILE: writes in every way, afterwards. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int (*patch)(void);
static _Atomic(unsigned long) opens, patches;
static _Atomic(int) stops;

static void load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

    *(void **)&patch = library ? dlsym(library, "trib_shim_patch_imports") : NULL;
    if (!patch) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
}

static void *open_and_close(void *path) {
    while (!stops) {
        void *plugin = dlopen(path, RTLD_NOW);
        int (*call)(int) = NULL;
        if (plugin)
            *(void **)&call = dlsym(plugin, "preload_late_plugin");
        if (!call || call(0) != 0) {
            fprintf(stderr, "%s: %s\n", (char *)path, call ? "its calls go astray" : dlerror());
            abort();
        }
        dlclose(plugin);
        opens++;
    }
    return NULL;
}

static void *keep_patching(void *unused) {
    while (!stops) {
        if (patch() < 0)
            abort();
        patches++;
    }
    return unused;
}

static int race(int seconds, char **plugins) {
    pthread_t threads[16];
    unsigned started = 0;

    for (; *plugins; plugins++)
        pthread_create(&threads[started++], NULL, open_and_close, *plugins);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[started++], NULL, keep_patching, NULL);
    for (int i = 0; i < seconds; i++) {
        unsigned long opened = opens, patched = patches;
        for (int tenth = 0; tenth < 10 || (tenth < 50 && opens == opened && patches == patched); tenth++)
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        if (opens == opened && patches == patched) {
            fprintf(stderr, "nobody moves after %lu opens, %lu patches\n", opened, patched);
            _exit(3);
        }
    }
    stops = 1;
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return opens > 10 && patches > 10 ? 0 : 4;
}

static int write_all(const char *path) {
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    FILE *stream = fdopen(dup(fd), "w");
    char bytes[100];

    memset(bytes, 'w', sizeof bytes);
    int slots = patch();
    ssize_t done = pwrite(fd, bytes, 10, 0) + write(fd, bytes, 20);
    if (!stream || fwrite(bytes, 1, 30, stream) != 30 || fclose(stream) != 0)
        return 1;
    close(fd);
    printf("%d more slots\n", slots);
    return done == 30 ? 0 : 1;
}

static void *idle(void *unused) {
    while (!stops)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t other;

    if (count < 4)
        return 2;
    pthread_create(&other, NULL, idle, NULL);
    load(arguments[2]);
    if (patch() <= 0)
        return 1;
    int code = strcmp(arguments[1], "race") == 0 ? race(atoi(arguments[3]), arguments + 4) : write_all(arguments[3]);
    stops = 1;
    pthread_join(other, NULL);
    return code;
}
