/* SPDX-License-Identifier: Apache-2.0 */
/* A signal that comes behind a given instruction, or a given system call, of what a process does with a descriptor
 * number for the first time: its parent lets it go there step by step, as a debugger does. The handler asks for all
 * memory to be locked, which its limit forbids: whoever has memory in reserve would give it back then. */
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "hazard.h"

/* Slots of these numbers lie on pages of their own, whatever is kept of each number. */
enum { OPENED = 800, INHERITED = 1000 };

/* Every third instruction: what may not be interrupted is longer. */
struct steps {
    enum __ptrace_request how;
    int each, most;
};
static const struct steps instructions = {PTRACE_SINGLESTEP, 3, 300}, system_calls = {PTRACE_SYSCALL, 1, 20};

static void in_handler(int signal) {
    int kept = errno;

    (void)signal;
    mlockall(MCL_CURRENT | MCL_FUTURE);
    errno = kept;
}

/* Also for root. The question is mlock's, which locks nothing where it fails. */
static bool limit_locked_memory(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2] = {{0}, {0}};
    const struct rlimit few = {65536, 65536};
    static char much[1 << 20];

    if (setrlimit(RLIMIT_MEMLOCK, &few) || syscall(SYS_capget, &head, sets))
        return false;
    sets[0].effective &= ~(1u << CAP_IPC_LOCK);
    return syscall(SYS_capset, &head, sets) == 0 && mlock(much, sizeof much) != 0;
}

static int copy_first(int fd) {
    return dup2(fd, OPENED) == OPENED && write(OPENED, "copied", 6) == 6 ? 0 : 2;
}

static int write_first(int fd) {
    (void)fd;
    return write(INHERITED, ".", 1) == 1 && write(INHERITED, ".", 1) == 1 ? 0 : 3;
}

typedef int (*first_use)(int fd);

/* The program's own output is a file that it did not open. */
static bool be_ready(void) {
    struct sigaction action = {.sa_handler = in_handler};
    int fd = make("before");

    sigaction(SIGUSR1, &action, NULL);
    return dup2(STDOUT_FILENO, INHERITED) == INHERITED && dup2(fd, 130) == 130 && write(130, "0123456789", 10) == 10;
}

static void be_stepped(first_use use, int fd) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        _exit(NOT_POSSIBLE);
    raise(SIGSTOP);
    _exit(use(fd));
}

/* The status, as wait gives it, of a child that had the signal after `count` steps, unless it was over before. */
static int step(enum __ptrace_request how, int count, first_use use, int fd) {
    pid_t child = fork();
    int status = 0;

    if (child == 0)
        be_stepped(use, fd);
    waitpid(child, &status, 0);
    for (int i = 0; i < count && WIFSTOPPED(status); i++) {
        ptrace(how, child, NULL, NULL);
        waitpid(child, &status, 0);
    }
    if (WIFSTOPPED(status))
        kill(child, SIGUSR1);
    for (long passed = 0; WIFSTOPPED(status); passed = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status)) {
        ptrace(PTRACE_CONT, child, NULL, (void *)passed);
        waitpid(child, &status, 0);
    }
    return status;
}

static int at_each(const struct steps *steps, first_use use) {
    int fd, bad = 0, last = 0;

    if (!be_ready())
        return 4;
    if (!limit_locked_memory())
        return not_possible("limits of locked memory");
    fd = make("a");
    for (int at = steps->each; at <= steps->most; at += steps->each) {
        int status = step(steps->how, at, use, fd);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_POSSIBLE)
            return not_possible("ptrace");
        bad += status != 0;
        last = status ? at : last;
    }
    say("%d did not end as they wanted, the last with a signal after step %d\n", bad, last);
    return 0;
}

static int copy_instructions(void) {
    return at_each(&instructions, copy_first);
}
static int write_instructions(void) {
    return at_each(&instructions, write_first);
}
static int write_system_calls(void) {
    return at_each(&system_calls, write_first);
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"copy_instructions", copy_instructions},
                                            {"write_instructions", write_instructions},
                                            {"write_system_calls", write_system_calls},
                                            {NULL, NULL}};
    return run_hazard(hazards, count, values);
}
