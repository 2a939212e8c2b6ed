/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that this one starts: will the shim see what they write? Asked right before the start, so that no write pays
 * for it; told only if not, because telling joins the session. All that libc starts inside itself (system, popen) is a
 * shell, which asks for itself. */
#include <alloca.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "descriptors.h"
#include "next.h"
#include "sink.h"

/* ---- what is told ---- */

#define NOBODY  0
#define WRITING (-1)

/* By the child of a vfork, which must not open the sink in its parent's place: in the memory that both share, until the
 * parent runs on. */
static struct {
    _Atomic(int) why; /* enum trib_uncovered, or as above */
    char path[1024];
} left_behind;

static void leave_behind(const char *path, enum trib_uncovered why) {
    int nobody = NOBODY;

    if (!atomic_compare_exchange_strong(&left_behind.why, &nobody, WRITING))
        return;
    snprintf(left_behind.path, sizeof left_behind.path, "%s", path);
    atomic_store(&left_behind.why, (int)why);
}

void trib_programs_report(void) {
    int why = atomic_load(&left_behind.why);

    if (why <= NOBODY)
        return;
    trib_sink_uncovered(left_behind.path, (enum trib_uncovered)why);
    atomic_store(&left_behind.why, NOBODY);
}

static bool has_session(char *const environment[]) {
    for (; environment && *environment; environment++)
        if (strncmp(*environment, "TRIBUTARY_SESSION=", 18) == 0 || strncmp(*environment, "TRIBUTARY=", 10) == 0)
            return true;
    return false;
}

static void note(const char *path, char *const environment[]) {
    int kept = errno;

    if (!trib_sink_wanted())
        return;
    enum trib_uncovered why = trib_program_uncovered(path);
    if (!why && !has_session(environment) && access(path, X_OK) == 0)
        why = TRIB_UNCOVERED_ENVIRONMENT;
    if (!why && trib_sink_is_barred())
        why = TRIB_UNCOVERED_USER;
    errno = kept;
    if (why && trib_in_vfork)
        leave_behind(path, why);
    else if (why)
        trib_sink_uncovered(path, why);
}

/* As execvp finds it. */
static void note_by_name(const char *name, char *const environment[]) {
    const char *folder = getenv("PATH"), *end;
    char path[PATH_MAX];
    int kept = errno;

    if (strchr(name, '/') || !trib_sink_wanted()) {
        note(name, environment);
        return;
    }
    for (folder = folder ? folder : "/bin:/usr/bin"; folder; folder = *end ? end + 1 : NULL) {
        end = strchrnul(folder, ':');
        const char *slash = end == folder ? "" : "/"; /* an empty entry: the working folder */
        int length = snprintf(path, sizeof path, "%.*s%s%s", (int)(end - folder), folder, slash, name);
        if ((size_t)length >= sizeof path || access(path, X_OK) != 0)
            continue;
        note(path, environment);
        break;
    }
    errno = kept;
}

/* ---- exec: the whole family comes down to two ---- */

static int run(const char *path, char *const arguments[], char *const environment[]) {
    note(path, environment);
    return TRIB_NEXT(execve)(path, arguments, environment);
}

static int run_by_name(const char *name, char *const arguments[], char *const environment[]) {
    note_by_name(name, environment);
    return TRIB_NEXT(execvpe)(name, arguments, environment);
}

TRIB_CALL int execve(const char *path, char *const arguments[], char *const environment[]) {
    return run(path, arguments, environment);
}

TRIB_CALL int execv(const char *path, char *const arguments[]) {
    return run(path, arguments, environ);
}

TRIB_CALL int execvpe(const char *name, char *const arguments[], char *const environment[]) {
    return run_by_name(name, arguments, environment);
}

TRIB_CALL int execvp(const char *name, char *const arguments[]) {
    return run_by_name(name, arguments, environ);
}

/* The arguments of a call that lists them, `first` and what follows up to NULL, on the stack of the caller. */
#define GATHER(rest_, first_, out_)                                                                                    \
    do {                                                                                                               \
        va_list count_;                                                                                                \
        size_t total_ = 1, at_ = 0;                                                                                    \
        va_copy(count_, rest_);                                                                                        \
        for (const char *next_ = (first_); next_; next_ = va_arg(count_, const char *))                                \
            total_++;                                                                                                  \
        va_end(count_);                                                                                                \
        (out_) = alloca(total_ * sizeof *(out_));                                                                      \
        for (const char *next_ = (first_); next_; next_ = va_arg(rest_, const char *))                                 \
            (out_)[at_++] = (char *)(uintptr_t)next_;                                                                  \
        (out_)[at_] = NULL;                                                                                            \
    } while (0)

TRIB_CALL int execl(const char *path, const char *first, ...) {
    char **arguments;
    va_list rest;

    va_start(rest, first);
    GATHER(rest, first, arguments);
    va_end(rest);
    return run(path, arguments, environ);
}

TRIB_CALL int execlp(const char *name, const char *first, ...) {
    char **arguments;
    va_list rest;

    va_start(rest, first);
    GATHER(rest, first, arguments);
    va_end(rest);
    return run_by_name(name, arguments, environ);
}

TRIB_CALL int execle(const char *path, const char *first, ...) {
    char **arguments;
    va_list rest;

    va_start(rest, first);
    GATHER(rest, first, arguments);
    char *const *environment = va_arg(rest, char *const *);
    va_end(rest);
    return run(path, arguments, environment);
}

/* ---- spawn ---- */

TRIB_CALL int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
    trib_descriptors_shared();
    note(path, environment);
    return TRIB_NEXT(posix_spawn)(child, path, actions, attributes, arguments, environment);
}

TRIB_CALL int posix_spawnp(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
    trib_descriptors_shared();
    note_by_name(path, environment);
    return TRIB_NEXT(posix_spawnp)(child, path, actions, attributes, arguments, environment);
}
