/* SPDX-License-Identifier: Apache-2.0 */
/* Children of every make, that write: each into a file of its own, PIECES pieces of 10 bytes from 0 on, so that a
 * record can be checked. One thread but where said. */
#include <linux/sched.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "hazard.h"

#define PIECES 20

extern char **environ;
static char *self;

static int pieces(const char *name) {
    int fd = make(name);

    for (int i = 0; i < PIECES; i++)
        if (write(fd, "0123456789", 10) != 10)
            return 1;
    return close(fd) ? 2 : 0;
}

/* This program again, for one file. */
static void become(const char *name) {
    execl(self, self, "pieces", name, (char *)NULL);
    _exit(9);
}

static int by_fork(void) {
    pid_t child;
    int code = pieces("parent");

    if ((child = fork()) == 0)
        _exit(pieces("child"));
    say_ends(&child, 1);
    return code + pieces("after");
}

static int by_libc_fork(void) {
    int code = pieces("parent");
    pid_t child = _Fork();

    if (child == 0)
        _exit(pieces("child"));
    say_ends(&child, 1);
    return code;
}

static int by_raw_clone(void) {
    int code = pieces("parent");
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

    if (child == 0)
        _exit(pieces("child"));
    say_ends(&child, 1);
    return code;
}

static int by_raw_clone3(void) {
    struct clone_args how = {.exit_signal = SIGCHLD};
    int code = pieces("parent");
    pid_t child = (pid_t)syscall(SYS_clone3, &how, sizeof how);

    if (child == 0)
        _exit(pieces("child"));
    if (child < 0)
        return not_possible("clone3");
    say_ends(&child, 1);
    return code;
}

/* The child writes on its parent's memory before it becomes another program: allowed by nobody, done by many. */
static int by_vfork(void) {
    int code = pieces("parent"), fd = make("of_child");
    pid_t child = vfork();

    if (child == 0) {
        for (int i = 0; i < PIECES; i++)
            if (write(fd, "0123456789", 10) != 10)
                _exit(8);
        become("child");
    }
    say_ends(&child, 1);
    return code + pieces("after");
}

static int by_vfork_that_ends(void) {
    int code = pieces("parent"), fd = make("of_child");
    pid_t child = vfork();

    if (child == 0) {
        for (int i = 0; i < PIECES; i++)
            if (write(fd, "0123456789", 10) != 10)
                _exit(8);
        close(fd);
        _exit(0);
    }
    say_ends(&child, 1);
    say("still open: %d\n", fcntl(fd, F_GETFD));
    return code + pieces("after");
}

static int on_shared_memory(void *unused) {
    (void)unused;
    _exit(pieces("child"));
}

static int by_clone_vm(void) {
    static char stack[65536] __attribute__((aligned(64)));
    int code = pieces("parent");
    pid_t child = clone(on_shared_memory, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

    say_ends(&child, 1);
    return code + pieces("after");
}

static int by_clone_files(void) {
    static char stack[65536] __attribute__((aligned(64)));
    int code = pieces("parent");
    pid_t child = clone(on_shared_memory, stack + sizeof stack, CLONE_FILES | SIGCHLD, NULL);

    say_ends(&child, 1);
    return code + pieces("after");
}

static int by_spawn(void) {
    char *list[] = {self, "pieces", "child", NULL};
    pid_t child;
    int code = pieces("parent"), result = posix_spawn(&child, self, NULL, NULL, list, environ);

    say("spawn %d\n", result);
    say_ends(&child, 1);
    return code + pieces("after");
}

static int by_spawn_with_actions(void) {
    char *list[] = {self, "out", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int code = pieces("parent");

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "child", O_CREAT | O_WRONLY, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_addclose(&actions, 3);
    say("spawn %d\n", posix_spawnp(&child, self, &actions, NULL, list, environ));
    say_ends(&child, 1);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static int by_system(void) {
    int code = pieces("parent");

    say("system %d\n", system("printf 0123456789 >child"));
    FILE *pipe = popen("cat >child2", "w");
    fputs("0123456789", pipe);
    say("pclose %d\n", pclose(pipe));
    return code;
}

/* Missing programs: an answer at once. */
static int spawn_missing(void) {
    char *list[] = {"nope", NULL};
    pid_t child;
    int code = pieces("parent");

    for (int i = 0; i < 30; i++) {
        int result = posix_spawnp(&child, "no-such-program", NULL, NULL, list, environ);
        if (result != ENOENT)
            say("spawn %d: %s\n", i, strerrorname_np(result));
    }
    for (int i = 0; i < 10; i++) {
        child = fork();
        if (child == 0) {
            execvp("no-such-program", list);
            _exit(errno == ENOENT ? 0 : 1);
        }
        say_ends(&child, 1);
    }
    return code;
}

/* Three levels of three, all at once, each process with a file of its own. */
static int grow(const char *name, int level) {
    pid_t children[3];
    int code = pieces(name), status;

    for (int i = 0; level < 3 && i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            char own[16];
            snprintf(own, sizeof own, "%s%d", name, i);
            _exit(grow(own, level + 1));
        }
    }
    for (int i = 0; level < 3 && i < 3; i++)
        if (waitpid(children[i], &status, 0) != children[i] || status)
            code = 7;
    return code;
}

static int tree(void) {
    return grow("t", 0);
}

/* Through a shared descriptor, too: the offset moves under all of them. */
static int shared_offset(void) {
    int fd = make("shared");

    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < PIECES; k++)
                if (write(fd, "0123456789", 10) != 10)
                    _exit(1);
            _exit(0);
        }
        say_ends(&child, 1);
    }
    return 0;
}

/* The server outlives who started it. */
static int daemonise(bool writes_before, bool writes_between) {
    if (writes_before && pieces("pidfile"))
        return 2;
    if (fork() == 0) {
        setsid();
        if (writes_between && pieces("between"))
            _exit(3);
        if (fork() == 0) {
            closefrom(0);
            pause_ms(40); /* trib record waits 100 ms for who has not joined yet */
            _exit(pieces("daemon"));
        }
        _exit(0);
    }
    wait(NULL);
    return 0;
}
static int daemon_after_write(void) {
    return daemonise(true, false);
}
static int daemon_before_write(void) {
    return daemonise(false, false);
}
static int daemon_that_writes_between(void) {
    return daemonise(true, true);
}
static int daemon_of_libc(void) {
    if (pieces("pidfile") || daemon(1, 0))
        return 2;
    pause_ms(40); /* trib record waits 100 ms for who has not joined yet */
    return pieces("daemon");
}

/* Workers that are started before or after the first write, and a parent that stays or leaves. */
static int prefork(bool early, bool leaves) {
    pid_t children[2];

    if (early && pieces("pidfile"))
        return 2;
    for (int i = 0; i < 2; i++)
        if ((children[i] = fork()) == 0) {
            char name[] = "worker0";
            name[6] = (char)('0' + i);
            pause_ms(leaves ? 50 : 0);
            _exit(pieces(name));
        }
    if (!leaves)
        say_ends(children, 2);
    return 0;
}
static int prefork_early(void) {
    return prefork(true, false);
}
static int prefork_late(void) {
    return prefork(false, false);
}
static int prefork_early_leaves(void) {
    return prefork(true, true);
}
static int prefork_late_leaves(void) {
    return prefork(false, true);
}

/* Killed in the middle: what it wrote was written. */
static int killed(void) {
    pid_t child = fork();

    if (child == 0) {
        pieces("child");
        raise(SIGKILL);
    }
    say_ends(&child, 1);
    if ((child = fork()) == 0) {
        pieces("aborted");
        abort();
    }
    say_ends(&child, 1);
    return pieces("parent");
}

/* A build's many short processes, eight at a time: more than there are places for at once. */
static int many(void) {
    const int count = 5000;
    int running = 0, status, code = 0;

    close(make("many"));
    for (int i = 0; i < count; i++) {
        if (running == 8 && wait(&status) > 0)
            code |= status, running--;
        if (fork() == 0) {
            int fd = open("many", O_WRONLY);
            _exit(pwrite(fd, "0123456789", 10, 10L * i) == 10 ? 0 : 1);
        }
        running++;
    }
    while (wait(&status) > 0)
        code |= status;
    return code ? 1 : 0;
}

static int zombies(void) {
    for (int i = 0; i < 50; i++)
        if (fork() == 0)
            _exit(write_one("child") ? 0 : 1);
    int count = 0;
    while (wait(NULL) > 0)
        count++;
    say("%d children\n", count);
    return 0;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"fork", by_fork},
                                            {"_Fork", by_libc_fork},
                                            {"clone", by_raw_clone},
                                            {"clone3", by_raw_clone3},
                                            {"vfork", by_vfork},
                                            {"vfork_ends", by_vfork_that_ends},
                                            {"clone_vm", by_clone_vm},
                                            {"clone_files", by_clone_files},
                                            {"spawn", by_spawn},
                                            {"spawn_actions", by_spawn_with_actions},
                                            {"system", by_system},
                                            {"spawn_missing", spawn_missing},
                                            {"tree", tree},
                                            {"shared_offset", shared_offset},
                                            {"daemon_after_write", daemon_after_write},
                                            {"daemon_before_write", daemon_before_write},
                                            {"daemon_between", daemon_that_writes_between},
                                            {"daemon_of_libc", daemon_of_libc},
                                            {"prefork_early", prefork_early},
                                            {"prefork_late", prefork_late},
                                            {"prefork_early_leaves", prefork_early_leaves},
                                            {"prefork_late_leaves", prefork_late_leaves},
                                            {"killed", killed},
                                            {"zombies", zombies},
                                            {"many", many},
                                            {NULL, NULL}};
    self = values[0];
    if (count > 2 && strcmp(values[1], "pieces") == 0)
        return pieces(values[2]);
    if (count > 1 && strcmp(values[1], "out") == 0) {
        for (int i = 0; i < PIECES; i++)
            if (write(1, "0123456789", 10) != 10)
                return 1;
        return 0;
    }
    return run_hazard(hazards, count, values);
}
