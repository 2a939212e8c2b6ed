/* SPDX-License-Identifier: Apache-2.0 */
/* The preload library loaded into a running program. race LIBRARY SECONDS PLUGIN...: threads open and close plugins
 * while others point imports at the library; 3 if nobody moves any more. write LIBRARY FILE: writes in every way,
 * afterwards. locked FOLDER PLUGIN: calls of every kind while another thread is inside the loader. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
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

/* ---- locked ---- */

static void *open_plugin(void *path) {
    return dlopen(path, RTLD_NOW);
}

/* What hooked programs do for the first time at any moment. */
static int call_all(void) {
    struct iovec part = {"abc", 3};
    int fd = open("one", O_CREAT | O_RDWR, 0600), other = openat(AT_FDCWD, "two", O_CREAT | O_RDWR, 0600), status;
    int good = pwrite(fd, "abc", 3, 0) == 3 && writev(fd, &part, 1) == 3 && pwritev(fd, &part, 1, 3) == 3 &&
               write(fd, "abc", 3) == 3 && lseek(fd, 0, SEEK_SET) == 0 && ftruncate(fd, 8192) == 0 && fsync(fd) == 0 &&
               fdatasync(fd) == 0 && copy_file_range(fd, NULL, other, NULL, 100, 0) == 100;
    char *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    FILE *stream = fopen("three", "w");
    if (!good || mapped == MAP_FAILED || !stream)
        return 1;
    memset(mapped, 'm', 8192);
    int copy = dup(other);
    good = msync(mapped, 8192, MS_SYNC) == 0 && munmap(mapped, 8192) == 0 && fputs("abc", stream) >= 0 &&
           fclose(stream) == 0 && dup2(fd, copy) == copy && fcntl(copy, F_SETFL, O_APPEND) == 0 && close(copy) == 0 &&
           rename("one", "four") == 0 && unlink("two") == 0 && truncate("three", 1) == 0 && close(fd) == 0 &&
           close(other) == 0;
    pid_t child = vfork();
    if (child == 0) {
        execl("/no/such", "none", (char *)NULL);
        execlp("no-such", "none", (char *)NULL);
        _exit(0);
    }
    return good && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static int call_locked(const char *folder, char *plugin) {
    int in[2], out[2];
    char text[40], byte;
    pthread_t other;
    void *opened;

    if (chdir(folder) != 0 || pipe(in) != 0 || pipe(out) != 0)
        return 1;
    snprintf(text, sizeof text, "%d,%d", in[0], out[1]);
    setenv("PRELOAD_LATE_WAITS", text, 1);
    alarm(30);
    pthread_create(&other, NULL, open_plugin, plugin);
    if (read(out[0], &byte, 1) != 1)
        return 1;
    int code = call_all();
    if (write(in[1], "x", 1) != 1)
        return 1;
    pthread_join(other, &opened);
    return opened ? code : 1;
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
    if (strcmp(arguments[1], "locked") == 0)
        return call_locked(arguments[2], arguments[3]);
    pthread_create(&other, NULL, idle, NULL);
    load(arguments[2]);
    if (patch() <= 0)
        return 1;
    int code = strcmp(arguments[1], "race") == 0 ? race(atoi(arguments[3]), arguments + 4) : write_all(arguments[3]);
    stops = 1;
    pthread_join(other, NULL);
    return code;
}
