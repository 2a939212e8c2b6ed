/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon for whoever has the same options in the same folder. It is started aside (aside.h): the task that starts it
 * ends at once, so the daemon is nobody's child; it has no descriptor of the program, none of its signal handlers, and
 * a session of its own. At start-up only. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/options.h"
#include "base/raw.h"
#include "producer/aside.h"
#include "producer/client.h"

#define READY_FD        3
#define ADDRESS_AT      4 /* of the arguments */
#define READY_WAIT_S    5
#define ANSWER_BYTES    512u
#define ENVIRONMENT_MAX 4096u

struct start {
    char stack[TRIB_ASIDE_STACK_BYTES], daemon_stack[TRIB_ASIDE_STACK_BYTES];
    char program[PATH_MAX];
    const char *arguments[12];
    const char *environment[ENVIRONMENT_MAX + 1];
    char answer[ANSWER_BYTES]; /* a code, and what is wrong */
    int ready_out;             /* the task's number of the pipe's end */
    int code;
};

/* ---- aside ---- */

static void reset_signals(void) {
    const uint64_t standard[4] = {0, 0, 0, 0}; /* the kernel's struct sigaction */
    uint64_t none = 0;

    for (long number = 1; number <= 64; number++)
        TRIB_RAW(SYS_rt_sigaction, number, standard, 0, sizeof none);
    TRIB_RAW(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &none, 0, sizeof none);
}

/* Becomes the daemon. */
static int become(void *arg) {
    struct start *start = arg;

    TRIB_RAW(SYS_setsid);
    TRIB_RAW(SYS_dup3, start->ready_out, READY_FD, 0);
    for (int fd = 0; fd < READY_FD; fd++) {
        TRIB_RAW(SYS_close, fd);
        TRIB_RAW(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
    }
    TRIB_RAW(SYS_close_range, READY_FD + 1, ~0u, 0);
    reset_signals();
    TRIB_RAW(SYS_execve, start->program, start->arguments, start->environment);
    return 1;
}

static long clone_daemon(struct start *start) {
    return trib_aside_clone(CLONE_VM | CLONE_VFORK, start->daemon_stack + TRIB_ASIDE_STACK_BYTES, become, start, NULL);
}

/* Its parent, for as long as it takes to answer. */
static int start_and_wait(void *arg) {
    struct start *start = arg;
    struct timespec limit = {.tv_sec = READY_WAIT_S};
    int ends[2];

    TRIB_RAW(SYS_close_range, 0, ~0u, 0);
    for (int fd = 0; fd < READY_FD + 1; fd++) /* so that the pipe gets numbers above those that the daemon wants */
        TRIB_RAW(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
    start->code = (int)TRIB_RAW(SYS_pipe2, ends, O_CLOEXEC);
    if (start->code)
        return 0;
    start->ready_out = ends[1];
    long pid = clone_daemon(start);
    TRIB_RAW(SYS_close, ends[1]);
    struct pollfd ready = {.fd = ends[0], .events = POLLIN};
    long got = pid < 0 ? pid : TRIB_RAW(SYS_ppoll, &ready, 1, &limit, 0, 0);
    if (got > 0)
        got = TRIB_RAW(SYS_read, ends[0], start->answer, ANSWER_BYTES - 1);
    else if (got == 0)
        got = -ETIMEDOUT;
    start->code = got > 0 ? 0 : got < 0 ? (int)got : -ENOEXEC;
    return 0;
}

/* Whether somebody listens there already. */
static int look_for_daemon(void *arg) {
    struct start *start = arg;

    long socket = trib_connect(start->arguments[ADDRESS_AT]);
    if (socket >= 0)
        TRIB_RAW(SYS_close, socket);
    return socket < 0 ? (int)socket : 0;
}

/* ---- what to start, and where ---- */

static bool take_program(struct start *start, const char *folder, const char *name) {
    int length = snprintf(start->program, sizeof start->program, "%s%s", folder, name);

    return length > 0 && (size_t)length < sizeof start->program && access(start->program, X_OK) == 0;
}

/* Beside this library, installed or in its build tree. */
static bool find_program(struct start *start) {
    const char *named = secure_getenv("TRIBUTARY_TRIB");
    char folder[PATH_MAX] = "";
    Dl_info self;

    if (named)
        return take_program(start, "", named);
    if (dladdr((void *)become, &self) && self.dli_fname && strlen(self.dli_fname) < sizeof folder) {
        strcpy(folder, self.dli_fname);
        char *slash = strrchr(folder, '/');
        folder[slash ? slash - folder : 0] = '\0';
    }
    return take_program(start, folder, "/../bin/trib") || take_program(start, folder, "/../../bin/trib") ||
           take_program(start, folder, "/../cli/trib") || take_program(start, folder, "/trib") ||
           take_program(start, "", "/usr/local/bin/trib") || take_program(start, "", "/usr/bin/trib");
}

static bool is_ours(const char *variable) {
    return strncmp(variable, "LD_PRELOAD=", 11) == 0 || strncmp(variable, "TRIBUTARY", 9) == 0;
}

static void fill_environment(struct start *start) {
    unsigned count = 0;

    for (char **variable = environ; variable && *variable && count < ENVIRONMENT_MAX; variable++)
        if (!is_ours(*variable))
            start->environment[count++] = *variable;
    start->environment[count] = NULL;
}

/* A folder that nobody else can put a socket into. */
static int find_folder(char *folder, size_t capacity) {
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    struct stat status;
    uid_t self = geteuid();
    int length = 0;

    if (runtime && runtime[0] == '/' && stat(runtime, &status) == 0 && status.st_uid == self)
        length = snprintf(folder, capacity, "%s/tributary", runtime);
    else if (self == 0)
        snprintf(folder, capacity, "/run/tributary");
    else
        snprintf(folder, capacity, "/tmp/tributary-%lu", (unsigned long)self);
    if (length < 0 || (size_t)length >= capacity)
        return -ENAMETOOLONG;
    if (mkdir(folder, self == 0 && !runtime ? 0755 : 0700) != 0 && errno != EEXIST)
        return -errno;
    if (lstat(folder, &status) != 0)
        return -errno;
    return S_ISDIR(status.st_mode) && status.st_uid == self && !(status.st_mode & (S_IWGRP | S_IWOTH)) ? 0 : -EACCES;
}

/* Whether they name a file by a path from the current folder: the same options mean other files elsewhere. */
static bool depend_on_folder(const char *options) {
    static const char *const files[] = {"trace=", "state="};

    for (const char *pair = options; pair; pair = strchr(pair, ',')) {
        pair += *pair == ',';
        for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
            if (strncmp(pair, files[i], strlen(files[i])) == 0 && pair[strlen(files[i])] != '/')
                return true;
    }
    return false;
}

static int name_address(const char *options, char *address, size_t capacity) {
    char folder[96], here[PATH_MAX] = "";
    int code = find_folder(folder, sizeof folder);

    if (code) {
        snprintf(address, capacity, "%s", folder);
        return code;
    }
    if (!depend_on_folder(options) || !getcwd(here, sizeof here))
        here[0] = '\0';
    uint64_t key = trib_hash_mix(trib_hash(options, strlen(options)), trib_hash(here, strlen(here)));
    int length = snprintf(address, capacity, "%s/auto-%016llx.sock", folder, (unsigned long long)key);
    return length > 0 && (size_t)length < capacity ? 0 : -ENAMETOOLONG;
}

typedef int aside(int (*work)(void *arg), void *arg, void *stack);

static int run_aside(aside *how, int (*work)(void *arg), struct start *start) {
    uint64_t before = trib_aside_block();
    int code = how(work, start, start->stack);

    trib_aside_unblock(before);
    return code;
}

/* Whose parent ends becomes the child of the nearest of these, who might wait for its last child. */
static bool adopts_orphans(void) {
    int subreaper = 0;

    return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0) == 0 && subreaper);
}

static int run(struct start *start, struct trib_error *error) {
    if (adopts_orphans())
        return trib_fail(error, -EPERM,
                         "it adopts orphans (PID 1, or a subreaper), and a daemon would be its child; "
                         "run `trib daemon` elsewhere and name its socket in TRIBUTARY_SESSION");
    fill_environment(start);
    int code = run_aside(trib_aside_as_process, start_and_wait, start);

    code = code < 0 ? code : start->code;
    if (code == -ETIMEDOUT)
        return trib_fail(error, code, "%s did not answer within %d s", start->program, READY_WAIT_S);
    if (code == -EINVAL)
        return trib_fail(error, code, "no daemon can be started: it would be the init of the children's PID namespace");
    if (code == -ENOEXEC)
        return trib_fail(error, code, "%s ended before it was ready", start->program);
    if (code)
        return trib_fail(error, code, "cannot start %s: %s", start->program, strerror(-code));
    char *sentence = start->answer;
    long refused = strtol(start->answer, &sentence, 10); /* "0", or "-22 unknown policy ..." */
    sentence[strcspn(sentence, "\n")] = '\0';
    return refused == 0 ? 0 : trib_fail(error, (int)refused, "%s", sentence + (*sentence == ' '));
}

int trib_client_start_daemon(const char *options, char *address, size_t capacity, struct trib_error *error) {
    int code = name_address(options, address, capacity);

    if (code == -EACCES)
        return trib_fail(error, code, "no folder for a socket: %s is not this user's alone; set XDG_RUNTIME_DIR to one",
                         address);
    if (code)
        return trib_fail(error, code, "no folder for a socket (XDG_RUNTIME_DIR, /run, /tmp): %s", strerror(-code));
    struct start *start = mmap(NULL, sizeof *start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return trib_fail(error, -ENOMEM, "no memory to start a daemon");
    const char *arguments[] = {"trib", "daemon", "--private", "--address", address, "--ready", "3", "--set", options};
    memcpy(start->arguments, arguments, sizeof arguments);
    if (run_aside(trib_aside, look_for_daemon, start) == 0)
        code = 0; /* started by an earlier process of the tree: no program need be loaded to find that out */
    else if (find_program(start))
        code = run(start, error);
    else
        code =
            trib_fail(error, -ENOENT, "`trib` is not beside this library, nor in /usr/bin; name it in TRIBUTARY_TRIB");
    munmap(start, sizeof *start);
    return code;
}
