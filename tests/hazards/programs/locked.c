/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that lock themselves in at awkward moments: after that any system call but a write or an end kills. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "hazard.h"
#include "steps.h"

#define ALLOW(number_) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int fd;

/* From here on this thread, or all of the process, may do nothing else. */
static void lock_in(unsigned flags) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog whole = {sizeof filter / sizeof *filter, filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &whole))
        syscall(SYS_exit_group, NOT_POSSIBLE);
}

/* Long enough after the first write for another attempt at whatever that one tried in vain. */
static int after_a_while(void) {
    fd = make("a");
    if (write(fd, "first", 5) != 5)
        return 2;
    pause_ms(200);
    lock_in(0);
    for (int i = 0; i < 10; i++)
        if (write(fd, "locked in", 9) != 9)
            syscall(SYS_exit_group, 3);
    syscall(SYS_exit_group, 0);
    return 1;
}

/* ---- by another thread, while this one waits for the child of its vfork ---- */

static volatile int has_tried, is_locked;

static void *lock_all_in(void *unused) {
    (void)unused;
    while (!has_tried)
        pause_ms(1);
    lock_in(SECCOMP_FILTER_FLAG_TSYNC);
    is_locked = 1;
    syscall(SYS_exit, 0);
    return NULL;
}

/* The child fails to start a program: no library could be in that, for want of an environment. */
static int during_vfork(void) {
    char *arguments[] = {"none", NULL}, *nothing[] = {NULL};
    pthread_t thread;

    close(open("none", O_CREAT | O_WRONLY, 0700));
    pthread_create(&thread, NULL, lock_all_in, NULL);
    if (vfork() == 0) {
        execve("none", arguments, nothing);
        has_tried = 1;
        while (!is_locked)
            pause_ms(1);
        _exit(0);
    }
    syscall(SYS_exit_group, 0);
    return 1;
}

/* ---- in a child that is forked while another thread is somewhere in its first write ---- */

static int child_status;

static void write_first(void) {
    write(fd, "parent", 6);
}

static void fork_one(void) {
    pid_t child = fork();

    if (child == 0) {
        lock_in(0);
        write(fd, "child", 5);
        syscall(SYS_exit_group, 0);
    }
    waitpid(child, &child_status, 0);
}

static int how_it_ended(void) {
    return WIFEXITED(child_status) ? WEXITSTATUS(child_status) : WTERMSIG(child_status);
}

static int in_forked_child(void) {
    struct steps steps = {.first = write_first, .second = fork_one, .end = how_it_ended, .call = STEPS_ANY_CALL};
    char name[16];

    for (; steps.number < 1000 && !steps.is_over; steps.number++) { /* a file of its own, which nobody has written */
        snprintf(name, sizeof name, "a%d", steps.number);
        fd = make(name);
        int status = steps_run(&steps);
        if (status == NOT_POSSIBLE << 8)
            return not_possible("tracing or filters");
        if (status)
            say("the writer stopped before its call %d: status %#x\n", steps.number, (unsigned)status);
        close(fd);
    }
    say("%s\n", steps.is_over ? "stopped before each call" : "endless");
    while (steps.number-- > 0) {
        snprintf(name, sizeof name, "a%d", steps.number);
        unlink(name);
    }
    return 0;
}

/* ---- by another thread, at any moment of this one's first write ---- */

static volatile int is_ready, may_write, has_written;

static void *write_first_of_all(void *unused) {
    (void)unused;
    is_ready = 1; /* what a thread's start asks of the kernel is behind it */
    while (!may_write)
        ;
    has_written = write(fd, "x", 1) == 1 ? 1 : 2;
    for (;;)
        ;
    return NULL;
}

static void lock_in_after_us(int delay_us) {
    struct timespec began, now;
    pthread_t thread;

    fd = make("a");
    pthread_create(&thread, NULL, write_first_of_all, NULL);
    while (!is_ready)
        ;
    clock_gettime(CLOCK_MONOTONIC, &began);
    may_write = 1;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - began.tv_sec) * 1000000 + (now.tv_nsec - began.tv_nsec) / 1000 < delay_us);
    lock_in(SECCOMP_FILTER_FLAG_TSYNC);
    while (!has_written)
        ;
    syscall(SYS_exit_group, has_written == 1 ? 0 : 4);
}

static int beside_first_write(void) {
    int killed = 0, status = 0;

    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0)
            lock_in_after_us(i * 8);
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_POSSIBLE)
            return not_possible("filters");
        killed += status != 0;
    }
    say("%d of 100 did not end as they wanted\n", killed);
    return 0;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"after_a_while", after_a_while},
                                            {"during_vfork", during_vfork},
                                            {"in_forked_child", in_forked_child},
                                            {"beside_first_write", beside_first_write},
                                            {NULL, NULL}};

    return run_hazard(hazards, count, values);
}
