/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that a library in front of libc must leave as they are: bad pointers, pending cancellation, a program
 * that locks itself in, small stacks, handlers that do what they interrupt. One per first argument, in the folder of
 * the second; what they print is the same with the library and without. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>

extern char **environ;
extern int io_submit(aio_context_t context, long count, struct iocb **requests);

static void *volatile nowhere = (void *)8;
static char data[8192];

static void check(int fine, int line) {
    if (!fine) {
        fprintf(stderr, "preload_hooked: line %d: %s\n", line, strerror(errno));
        exit(98);
    }
}
#define CHECK(fine_) check((fine_), __LINE__)

static int make(const char *name, int flags) {
    int fd = open(name, flags | O_CREAT, 0600);
    CHECK(fd >= 0);
    return fd;
}

/* ---- bad pointers ---- */

#define SAY(call_)                                                                                                     \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        long result_ = (long)(call_);                                                                                  \
        printf("%s = %ld %d\n", #call_, result_, errno);                                                               \
    } while (0)

static void say_submitted(int fd) {
    struct iocb good = {
        .aio_fildes = (unsigned)fd, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (uintptr_t)data, .aio_nbytes = 10};
    struct iocb bad = {
        .aio_fildes = (unsigned)fd, .aio_lio_opcode = IOCB_CMD_PWRITEV, .aio_buf = (uintptr_t)nowhere, .aio_nbytes = 2};
    struct iocb *first_good[2] = {&good, nowhere}, *parts_bad[1] = {&bad};
    aio_context_t context = 0;

    CHECK(syscall(SYS_io_setup, 4, &context) == 0);
    SAY(io_submit(context, 1, nowhere));
    SAY(io_submit(context, 2, first_good));
    SAY(io_submit(context, 1, parts_bad));
    SAY(syscall(SYS_io_submit, context, 1, nowhere));
}

static void run_pointers(void) {
    int fd = make("a", O_RDWR), out = make("b", O_WRONLY), pair[2], pipes[2];
    char *arguments[] = {"true", NULL}, *texts[] = {nowhere, NULL};
    pid_t child;

    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0 && pipe(pipes) == 0);
    CHECK(write(fd, data, 4096) == 4096 && write(pipes[1], data, 100) == 100);
    SAY(sendmsg(pair[0], nowhere, 0));
    SAY(sendmmsg(pair[0], nowhere, 1, 0));
    SAY(syscall(SYS_sendmsg, pair[0], nowhere, 0));
    SAY(copy_file_range(fd, NULL, out, nowhere, 8, 0));
    SAY(syscall(SYS_copy_file_range, fd, NULL, out, nowhere, 8, 0));
    SAY(splice(pipes[0], NULL, out, nowhere, 8, SPLICE_F_NONBLOCK));
    SAY(sendfile(out, fd, nowhere, 8));
    SAY(write(out, nowhere, 8));
    SAY(writev(out, nowhere, 2));
    SAY(pwritev(out, nowhere, 2, 0));
    SAY(pwritev2(out, nowhere, 2, 0, 0));
    SAY(syscall(SYS_writev, out, nowhere, 2));
    SAY(fcntl(out, F_SET_RW_HINT, nowhere));
    SAY(fcntl(out, F_SET_FILE_RW_HINT, nowhere));
    SAY(fcntl(out, F_SETLK, nowhere));
    SAY(open(nowhere, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    SAY(openat(AT_FDCWD, nowhere, O_WRONLY | O_CREAT, 0600));
    SAY(syscall(SYS_openat2, AT_FDCWD, "a", nowhere, sizeof(struct open_how)));
    SAY(unlink(nowhere));
    SAY(rename("a", nowhere));
    SAY(rename(nowhere, "a"));
    SAY(truncate(nowhere, 0));
    SAY(chdir(nowhere));
    SAY(execve(nowhere, arguments, environ));
    SAY(execve("/bin/true", arguments, nowhere));
    SAY(execve("/bin/true", arguments, texts));
    SAY(posix_spawn(&child, nowhere, NULL, NULL, arguments, environ));
    SAY(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, nowhere));
    SAY(syscall(SYS_io_uring_setup, 4, nowhere) == -1);
    SAY(syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0) == -1);
    SAY(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nowhere));
    SAY(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nowhere));
    say_submitted(out);
    CHECK(write(out, data, 20) == 20); /* recorded: nothing that failed has locked anybody in */
}

/* ---- pending cancellation ---- */

static int stage, mapped_fd;
static sigset_t seen;

static void clean(void *unused) {
    (void)unused;
    pthread_sigmask(SIG_SETMASK, NULL, &seen);
}

/* None of these is a cancellation point. */
static void *run_cancelled(void *unused) {
    char *arguments[] = {"true", NULL};
    pid_t child;

    (void)unused;
    pthread_cleanup_push(clean, NULL);
    pthread_cancel(pthread_self());
    stage = 1;
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mapped_fd, 0);
    CHECK(memory != MAP_FAILED);
    memory[0] = 1;
    stage = 2;
    munmap(memory, 4096);
    stage = 3;
    CHECK(syscall(SYS_write, mapped_fd, data, 5) == 5);
    stage = 4;
    CHECK(syscall(SYS_pwrite64, mapped_fd, data, 5l, 0l) == 5 && syscall(SYS_fsync, mapped_fd) == 0);
    stage = 5;
    CHECK(ftruncate(mapped_fd, 100) == 0 && rename("a", "b") == 0 && unlink("b") == 0);
    stage = 6;
    CHECK(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0 && dup2(mapped_fd, 40) == 40);
    stage = 7;
    pthread_testcancel();
    stage = 8;
    pthread_cleanup_pop(0);
    return NULL;
}

static void run_cancel(void) {
    pthread_t thread;
    void *result;

    mapped_fd = make("a", O_RDWR);
    CHECK(ftruncate(mapped_fd, 4096) == 0);
    CHECK(pthread_create(&thread, NULL, run_cancelled, NULL) == 0 && pthread_join(thread, &result) == 0);
    while (wait(NULL) > 0)
        ;
    printf("stage %d, %s, SIGUSR1 %s\n", stage, result == PTHREAD_CANCELED ? "cancelled" : "returned",
           sigismember(&seen, SIGUSR1) == 1 ? "blocked" : "free");
}

/* ---- a program that locks itself in ---- */

static void run_strict(void) {
    int known = make("known", O_RDWR), unknown = make("unknown", O_RDWR);

    CHECK(write(known, data, 1) == 1);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    for (int i = 0; i < 3; i++) {
        write(known, data, 5);
        write(unknown, data, 7);
    }
    syscall(SYS_exit, 0);
}

/* Ends the process at anything that is asked of a file, as a sandbox does that allows what the program needs. */
static void run_filter(void) {
    static const int asked[] = {SYS_fstat,   SYS_newfstatat, SYS_lseek,     SYS_fcntl,
                                SYS_fstatfs, SYS_readlink,   SYS_readlinkat};
    enum { ASKED = sizeof asked / sizeof *asked };
    struct sock_filter code[2 * ASKED + 2];
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    int known = make("known", O_RDWR), unknown = make("unknown", O_WRONLY);

    code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < ASKED; i++) {
        code[2 * i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)asked[i], 0, 1);
        code[2 * i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    code[2 * ASKED + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    CHECK(write(known, data, 1) == 1);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    CHECK(write(known, data, 5) == 5 && write(known, data, 5) == 5 && write(unknown, data, 7) == 7);
    CHECK(pwrite(known, data, 3, 100) == 3 && rename("unknown", "other") == 0 && unlink("other") == 0);
    CHECK(ftruncate(known, 2) == 0 && fsync(known) == 0);
    int later = make("later", O_WRONLY | O_TRUNC);
    CHECK(write(later, data, 9) == 9 && close(later) == 0 && close(known) == 0);
    _exit(0);
}

/* ---- small stacks ---- */

static void do_everything(const char *prefix) {
    char first[64] = "", second[64] = "";
    uint64_t hint = 2;

    strcat(strcat(first, prefix), "1");
    strcat(strcat(second, prefix), "2");
    int fd = open(first, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, data, 100) == 100 && pwrite(fd, data, 100, 4096) == 100);
    char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED && close(fd) == 0);
    memory[0] = 1;
    CHECK(msync(memory, 8192, MS_SYNC) == 0 && munmap(memory, 8192) == 0); /* its descriptor is to be borrowed */
    fd = open(second, O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct iovec parts[2] = {{data, 10}, {data, 20}};
    CHECK(fd >= 0 && writev(fd, parts, 2) == 30 && fcntl(fd, F_SET_RW_HINT, &hint) == 0 && pwrite(fd, data, 1, 0) == 1);
    CHECK(ftruncate(fd, 3) == 0 && fsync(fd) == 0 && close(fd) == 0);
    CHECK(truncate(first, 10) == 0 && rename(first, second) == 0);
}

static void *run_on_small_stack(void *prefix) {
    do_everything(prefix);
    return NULL;
}

static void on_alternate_stack(int number) {
    int kept = errno;
    (void)number;
    do_everything("signal");
    errno = kept;
}

/* At its end a page that nobody may touch. */
static char *make_stack(size_t bytes) {
    char *memory = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED && mprotect(memory, 4096, PROT_NONE) == 0);
    memset(memory + 4096, 0x5A, bytes);
    return memory + 4096;
}

static void say_used(const char *what, const char *stack, size_t bytes) {
    size_t untouched = 0;

    while (untouched < bytes && stack[untouched] == 0x5A)
        untouched++;
    fprintf(stderr, "%s: %zu of %zu bytes of stack used\n", what, bytes - untouched, bytes);
}

static void run_stack(void) {
    size_t small = 16384, alternate = ((size_t)sysconf(_SC_MINSIGSTKSZ) + 8192 + 4095) / 4096 * 4096;
    char *thread_stack = make_stack(small), *signal_stack = make_stack(alternate);
    stack_t other = {.ss_sp = signal_stack, .ss_size = alternate};
    struct sigaction action = {.sa_handler = on_alternate_stack, .sa_flags = SA_ONSTACK};
    pthread_attr_t attributes;
    pthread_t thread;

    CHECK(sigaltstack(&other, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0);
    say_used("signal", signal_stack, alternate);
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, thread_stack, small) == 0);
    CHECK(pthread_create(&thread, &attributes, run_on_small_stack, "thread") == 0 && pthread_join(thread, NULL) == 0);
    say_used("thread", thread_stack, small);
    puts("fits");
}

/* ---- handlers that do what they interrupt ---- */

static volatile unsigned signals;

static void write_a_file(char letter, unsigned number) {
    char name[8] = {letter,
                    (char)('0' + number / 1000 % 10),
                    (char)('0' + number / 100 % 10),
                    (char)('0' + number / 10 % 10),
                    (char)('0' + number % 10),
                    0};
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, 1 + number % 7) != (ssize_t)(1 + number % 7) || close(fd) != 0)
        _exit(97);
}

static void on_alarm(int number) {
    int kept = errno;
    (void)number;
    if (signals < 1000)
        write_a_file('h', signals++);
    errno = kept;
}

static void run_handler(void) {
    struct itimerval often = {{0, 200}, {0, 200}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

    write_a_file('m', 9999);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (unsigned i = 0; i < 5000 || signals < 300; i++)
        write_a_file('m', i % 9999);
    memset(&often, 0, sizeof often);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    printf("%u\n", signals);
}

/* ---- names ---- */

static void give_away(int fd) {
    char space[CMSG_SPACE(sizeof fd)] = "";
    struct iovec part = {data, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    int pair[2], received;

    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(control), &fd, sizeof fd);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && sendmsg(pair[0], &message, 0) == 1 && close(fd) == 0);
    CHECK(recvmsg(pair[1], &message, 0) == 1);
    memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
    CHECK(write(received, data, 11) == 11);
}

static void run_names(void) {
    char template[] = "tmpXXXXXX.db", deep[200];
    int folder = open(".", O_RDONLY), fd;

    CHECK(mkdir("sub", 0700) == 0 && chdir("sub") == 0);
    CHECK(write(make("in_sub", O_WRONLY), data, 1) == 1);
    CHECK(mkdir("pg_wal", 0700) == 0 && write(make("pg_wal/0001", O_RDWR), data, 2) == 2);
    CHECK(fchdir(folder) == 0); /* to a folder of unknown name */
    CHECK(write(make("sub/pg_wal/0002", O_RDWR), data, 3) == 3);
    CHECK(write(openat(folder, "by_folder", O_WRONLY | O_CREAT, 0600), data, 4) == 4);
    CHECK(write(mkstemps(template, 3), data, 5) == 5);
    CHECK(write(dup2(make("moved", O_RDWR), 50), data, 6) == 6);
    fd = make("appended", O_WRONLY);
    CHECK(fcntl(fd, F_SETFL, O_APPEND) == 0 && write(fd, data, 7) == 7);
    CHECK(write((int)syscall(SYS_openat, AT_FDCWD, "by_number", O_WRONLY | O_CREAT, 0600), data, 8) == 8);
    memset(deep, 'd', sizeof deep);
    deep[150] = '\0';
    CHECK(mkdir(deep, 0700) == 0);
    strcpy(deep + 150, "/long.db");
    CHECK(write(make(deep, O_WRONLY), data, 9) == 9);
    FILE *stream = fopen("stream", "a+");
    CHECK(stream && fwrite(data, 1, 10, stream) == 10 && fclose(stream) == 0);
    give_away(make("given", O_WRONLY));
    fd = make("renumbered", O_WRONLY); /* what a number was called before does not stay with it */
    CHECK(close(fd) == 0 && open(".", O_RDONLY) == fd && close(fd) == 0);
    CHECK(memfd_create("memory", 0) == fd && write(fd, data, 12) == 12);
}

/* ---- mapped in parts ---- */

static void run_parts(void) {
    int fd = make("a", O_RDWR);

    CHECK(ftruncate(fd, 5 * 4096) == 0);
    char *memory = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED && munmap(memory + 2 * 4096, 4096) == 0); /* its middle */
    memory[0] = memory[4 * 4096] = 1;
    CHECK(msync(memory, 4096, MS_SYNC) == 0 && munmap(memory + 3 * 4096, 2 * 4096) == 0);
    memory[4096] = 1; /* and what another takes the place of */
    CHECK(mmap(memory, 2 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory);
    CHECK(munmap(memory, 2 * 4096) == 0);
}

/* ---- questions ---- */

/* What the kernel is asked between the two calls of getppid, by number. */
static void follow(pid_t child) {
    struct __ptrace_syscall_info info;
    int status, between = 0;

    CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    CHECK(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0);
    while (ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0 && waitpid(child, &status, 0) == child &&
           WIFSTOPPED(status)) {
        if (WSTOPSIG(status) != (SIGTRAP | 0x80))
            continue;
        if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
            continue;
        if (info.entry.nr == SYS_getppid)
            between = !between;
        else if (between)
            printf("%d\n", (int)info.entry.nr);
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void use_files(unsigned turn) {
    char name[] = "q0", other[] = "r0";
    int fd, second;

    name[1] = other[1] = (char)('0' + turn);
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600); /* asked: what it empties; at the first write, which file */
    for (int i = 0; i < 10; i++)
        CHECK(write(fd, data, 100) == 100 && pwrite(fd, data, 10, 0) == 10);
    CHECK(fcntl(fd, F_SETFL, 0) == 0 && close(fd) == 0);
    FILE *stream = fopen(other, "w"); /* the same */
    CHECK(stream && fprintf(stream, "%d\n", 5) == 2 && fclose(stream) == 0);
    fd = open(name, O_RDONLY);
    second = dup(fd);
    CHECK(read(second, data, 10) == 10 && close(fd) == 0 && close(second) == 0);
    fd = open(name, O_RDWR); /* never written through */
    CHECK(pread(fd, data, 10, 0) == 10 && close(fd) == 0);
    CHECK(rename(name, other) == 0); /* asked: what it replaces, and whether that is another file */
    CHECK(unlink(other) == 0);       /* asked: which */
}

static void run_questions(void) {
    pid_t child = fork();

    if (child == 0) {
        use_files(0); /* joins, learns the call paths */
        use_files(1);
        CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 && raise(SIGSTOP) == 0);
        syscall(SYS_getppid);
        use_files(2);
        syscall(SYS_getppid);
        _exit(0);
    }
    follow(child);
}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {
    {"pointers", run_pointers}, {"cancel", run_cancel}, {"strict", run_strict},
    {"filter", run_filter},     {"stack", run_stack},   {"handler", run_handler},
    {"names", run_names},       {"parts", run_parts},   {"questions", run_questions},
};

int main(int count, char **arguments) {
    if (count != 3 || chdir(arguments[2]) != 0)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i].name, arguments[1]) == 0) {
            programs[i].run();
            return 0;
        }
    return 2;
}
