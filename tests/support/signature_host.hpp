// SPDX-License-Identifier: Apache-2.0
// A host that captures: call paths with one call site, children whose end is judged, threads on a stack of the test's.
#pragma once

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tributary/signature.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "support/catch.hpp"
#include "support/signature_paths.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SIGNATURE_HOST_SANITIZED 1
#else
#define SIGNATURE_HOST_SANITIZED 0
#endif

namespace host {

using PluginCall = void (*)(signature_leaf *, void *);

__attribute__((noinline)) inline void take(void *arg) {
    *static_cast<uint64_t *>(arg) = trib_signature_capture(TRIB_FRAME_HERE(), 3);
}

// Its own frames only, so that every thread and every caller gets the same: leaf, shapes, signature_path.
__attribute__((noinline)) inline uint64_t along(const char *program) {
    uint64_t signature = 0;
    signature_path(program, 1, take, &signature);
    return signature;
}

__attribute__((noinline)) inline uint64_t through(PluginCall call) {
    uint64_t signature = 0;
    call(take, &signature);
    __asm__ volatile("" : : : "memory");
    return signature;
}

inline PluginCall open_plugin(const char *path) {
    void *handle = dlopen(path, RTLD_NOW);
    return handle ? reinterpret_cast<PluginCall>(dlsym(handle, "signature_plugin_call")) : nullptr;
}

// Every kind of capture: hits beyond the check of a hit, misses, new paths.
inline bool capture_all_kinds(PluginCall unmet) {
    static const char *const programs[] = {"ab", "ba", "fed", "gac", "ccd", "eee"};
    bool good = unmet == nullptr || through(unmet) != TRIB_SIGNATURE_UNKNOWN;
    for (const char *program : programs) {
        const uint64_t first = along(program);
        good = good && first != TRIB_SIGNATURE_UNKNOWN;
        for (unsigned i = 0; i < 3000; i++)
            good = good && along(program) == first;
    }
    for (unsigned levels = 0; levels < 400; levels++) { // fresh frames
        char *room = static_cast<char *>(__builtin_alloca(16));
        __asm__ volatile("" : : "r"(room) : "memory");
        good = good && along("ab") != TRIB_SIGNATURE_UNKNOWN;
    }
    return good;
}

// 0: the child says that all was well. A child that hangs is ended by SIGALRM.
template <typename Body> int in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(60);
        const bool good = body();
        syscall(SYS_exit, good ? 0 : 1); // the one way out that seccomp's strict mode leaves
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

// Runs `body` in a thread on the given memory, or of the given size.
template <typename Body> void in_thread(Body body, void *stack, size_t bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack)
        pthread_attr_setstack(&attributes, stack, bytes);
    else if (bytes)
        pthread_attr_setstacksize(&attributes, bytes);
    pthread_t thread;
    const int code = pthread_create(
        &thread, &attributes,
        [](void *arg) -> void * {
            (*static_cast<Body *>(arg))();
            return nullptr;
        },
        &body);
    pthread_attr_destroy(&attributes);
    REQUIRE(code == 0);
    pthread_join(thread, nullptr);
}

inline uint64_t now_ns() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace host
