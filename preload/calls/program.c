/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that this one starts: will the shim see what they write? Asked right before the start, so that no write pays
 * for it; reported only if not, because reporting joins the session. All that libc starts inside itself (system, popen)
 * is a shell, which asks for itself. */
#include <alloca.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "calls/calls.h"
#include "files/descriptors.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "producer/aside.h"
#include "quiet.h"
#include "sink.h"

/* ---- what is reported ---- */

#define NOBODY         0
#define WRITING        (-1)
#define PAGE_BYTES     4096u
#define PATH_BYTES_MAX 1024u /* of a program; longer ones are not asked about */

/* By the child of a vfork, which must not open the sink in its parent's place: in the memory that both share, until the
 * parent runs on. */
static struct {
    _Atomic(int) why; /* enum trib_uncovered, or as above */
    char path[PATH_BYTES_MAX];
} left_behind;

static void leave_behind(const char *path, enum trib_uncovered why) {
    int nobody = NOBODY;

    if (!atomic_compare_exchange_strong(&left_behind.why, &nobody, WRITING))
        return;
    memcpy(left_behind.path, path, strlen(path) + 1);
    atomic_store(&left_behind.why, (int)why);
}

void trib_programs_report(void) {
    trib_quiet_child_gone();
    trib_descriptors_child_gone();
    int why = atomic_load(&left_behind.why);

    if (why <= NOBODY)
        return;
    trib_sink_uncovered(left_behind.path, (enum trib_uncovered)why);
    atomic_store(&left_behind.why, NOBODY);
}

/* Memory that the kernel will read, and answer with EFAULT where it cannot: so asked, which looks up no file. */
static bool is_readable(const void *start, size_t length, uintptr_t *known_page) {
    uintptr_t first = (uintptr_t)start / PAGE_BYTES, last = ((uintptr_t)start + length - 1) / PAGE_BYTES;

    if (first == *known_page && last == *known_page)
        return true;
    if (TRIB_RAW(SYS_faccessat, -1, start, F_OK) == -EFAULT)
        return false;
    *known_page = last;
    return true;
}

/* Also where the environment cannot be read: then no program starts. */
static bool has_session(char *const environment[]) {
    static const char session[] = "TRIBUTARY_SESSION=", options[] = "TRIBUTARY=";
    uintptr_t entry_page = UINTPTR_MAX, text_page = UINTPTR_MAX;

    for (; environment; environment++) {
        if (!is_readable(environment, sizeof *environment, &entry_page))
            return true;
        if (!*environment)
            return false;
        if (!is_readable(*environment, sizeof session - 1, &text_page) ||
            strncmp(*environment, session, sizeof session - 1) == 0 ||
            strncmp(*environment, options, sizeof options - 1) == 0)
            return true;
    }
    return false;
}

static bool is_runnable(const char *path) {
    return TRIB_RAW(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

struct errand {
    const char *path;
    enum trib_uncovered why;
};

static int run_errand(void *arg) {
    struct errand *errand = arg;

    errand->why = trib_program_uncovered(errand->path);
    return 0;
}

/* Its head is read through a descriptor, which no other thread may meet, and whose close would drop every POSIX lock
 * that the program holds on that file. The child of a vfork has a table of its own. */
static enum trib_uncovered look_at(const char *path) {
    struct errand errand = {path, TRIB_COVERED};
    char *stack = NULL;

    if (trib_in_vfork)
        return trib_program_uncovered(path);
    if (!(stack = trib_memory_map(TRIB_ASIDE_STACK_BYTES)))
        return TRIB_COVERED; /* as far as anybody can say */
    uint64_t before = trib_aside_block();
    (void)trib_aside_in_thread(run_errand, &errand, stack);
    trib_aside_unblock(before);
    TRIB_RAW(SYS_munmap, stack, TRIB_ASIDE_STACK_BYTES);
    return errand.why;
}

static enum trib_uncovered judge(const char *path, char *const environment[]) {
    enum trib_uncovered why = look_at(path);

    if (!why && !has_session(environment) && is_runnable(path))
        why = TRIB_UNCOVERED_ENVIRONMENT;
    if (!why && trib_sink_is_barred())
        why = TRIB_UNCOVERED_USER;
    return why;
}

/* Keeps errno: all that it asks is asked by raw calls. */
static void note(const char *path, char *const environment[]) {
    enum trib_uncovered why = judge(path, environment);

    if (why && trib_in_vfork)
        leave_behind(path, why);
    else if (why)
        trib_sink_uncovered(path, why);
}

/* A path is the program's until the kernel has read it: one that libc would answer with EFAULT is asked about by the
 * kernel first. */
static void note_path(const char *path, char *const environment[]) {
    if (!trib_sink_wanted() || !trib_ask_begin())
        return;
    if (is_runnable(path) && strnlen(path, PATH_BYTES_MAX) < PATH_BYTES_MAX)
        note(path, environment);
    trib_ask_end();
}

static const char *search_path(void) {
    for (char **variable = environ; variable && *variable; variable++)
        if (strncmp(*variable, "PATH=", 5) == 0)
            return *variable + 5;
    return "/bin:/usr/bin";
}

/* False: it does not fit. */
static bool join(char path[PATH_BYTES_MAX], const char *folder, size_t length, const char *name) {
    size_t name_bytes = strlen(name) + 1, slash = length ? 1 : 0; /* an empty entry: the working folder */

    if (length + slash + name_bytes > PATH_BYTES_MAX)
        return false;
    memcpy(path, folder, length);
    memcpy(path + length, "/", slash);
    memcpy(path + length + slash, name, name_bytes);
    return true;
}

/* As execvp finds it. libc itself reads the name. */
static void note_by_name(const char *name, char *const environment[]) {
    char path[PATH_BYTES_MAX];
    const char *end;

    if (strchr(name, '/')) {
        note_path(name, environment);
        return;
    }
    if (!trib_sink_wanted() || !trib_ask_begin())
        return;
    for (const char *folder = search_path(); folder; folder = *end ? end + 1 : NULL) {
        end = strchrnul(folder, ':');
        if (!join(path, folder, (size_t)(end - folder), name) || !is_runnable(path))
            continue;
        note(path, environment);
        break;
    }
    trib_ask_end();
}

/* ---- exec: the whole family comes down to two ---- */

static int run(const char *path, char *const arguments[], char *const environment[]) {
    note_path(path, environment);
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
    note_path(path, environment);
    return TRIB_NEXT(posix_spawn)(child, path, actions, attributes, arguments, environment);
}

TRIB_CALL int posix_spawnp(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
    trib_descriptors_shared();
    note_by_name(path, environment);
    return TRIB_NEXT(posix_spawnp)(child, path, actions, attributes, arguments, environment);
}
