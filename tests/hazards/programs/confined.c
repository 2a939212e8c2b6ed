/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes and limits: seccomp, MDWE, few descriptors, little memory. `late`: after the first write; `early`: before
 * it; `inherited`: by a program that then becomes this one again. One thread. */
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "hazard.h"

static bool is_late, is_inherited;
static int fd;

/* So many that a write's own time shows beside the program's start, and fewer than wait in a ring: none is lost. */
#define REPEATED 12000

/* Writes through the descriptor that is open, as sandboxed workers do. */
static int work(void) {
    for (int i = 0; i < 10; i++)
        if (write(fd, "confined\n", 9) != 9)
            return 2;
    for (int i = 0; i < REPEATED; i++)
        if (pwrite(fd, "X", 1, 0) != 1)
            return 3;
    return 0;
}

static int strict(void) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        return NOT_POSSIBLE;
    for (int i = 0; i < REPEATED; i++)
        if (write(fd, "strictly\n", 9) != 9)
            syscall(SYS_exit, 2);
    syscall(SYS_exit, 0);
    return 1;
}

static char *self;

/* Any of these system calls kills the process, and then another program with the same filter. */
static int killing(const long *calls, int count) {
    struct sock_filter filter[40];
    int at = 0;

    filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count; i++) {
        if (is_inherited && calls[i] == SYS_execve)
            continue;
        filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog whole = {(unsigned short)at, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole))
        return NOT_POSSIBLE;
    if (is_inherited)
        execl(self, self, "work", (char *)NULL);
    return work();
}

/* A filter all the same. */
static int kills_at_nothing(void) {
    return killing(NULL, 0);
}
static int no_sockets(void) {
    return killing((const long[]){SYS_socket, SYS_connect, SYS_sendmsg, SYS_recvmsg}, 4);
}
static int no_files(void) {
    return killing((const long[]){SYS_open, SYS_openat, SYS_openat2, SYS_memfd_create, SYS_readlink}, 5);
}
static int no_processes(void) {
    return killing((const long[]){SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_execve, SYS_ptrace}, 6);
}
static int no_memory_calls(void) {
    return killing((const long[]){SYS_mmap, SYS_mprotect, SYS_munmap, SYS_brk, SYS_mremap, SYS_madvise}, 6);
}

/* Only libc's own code may make system calls, while the selector says so: as an emulator of another system does it. */
static uintptr_t libc_low, libc_bytes;
static volatile char selector;

static int find_libc(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; strstr(info->dlpi_name, "libc.so.6") && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            libc_low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            libc_bytes = info->dlpi_phdr[i].p_memsz;
        }
    return 0;
}

static int dispatch(void) {
    dl_iterate_phdr(find_libc, NULL);
    if (prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, libc_low, libc_bytes, &selector))
        return NOT_POSSIBLE;
    selector = 1; /* any other system call ends the process */
    int code = work();
    selector = 0;
    return code;
}

/* What is not on the list does not kill but fails: libraries that insist loop. */
static int only_writes(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog whole = {sizeof filter / sizeof *filter, filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole))
        return NOT_POSSIBLE;
    return work();
}

static int mdwe(void) {
    if (prctl(65 /* PR_SET_MDWE */, 1L, 0L, 0L, 0L))
        return not_possible("a kernel without MDWE");
    return work() || !write_one("after");
}

/* ---- limits ---- */

static int descriptors(rlim_t count) {
    struct rlimit limit = {count, count};
    int code = setrlimit(RLIMIT_NOFILE, &limit) ? NOT_POSSIBLE : work();

    say_result("open", open("after", O_CREAT | O_RDWR, 0600));
    say_result("dup", dup(fd));
    say_result("dup2", dup2(fd, 2));
    say_result("pipe", pipe((int[2]){0, 0}));
    return code;
}
static int descriptors_0(void) {
    return descriptors(0);
}
static int descriptors_3(void) {
    return descriptors(3);
}
static int descriptors_4(void) {
    return descriptors(4);
}

/* Nothing can be mapped any more, nor can the heap grow. */
static int no_memory(void) {
    struct rlimit none = {0, 0};

    if (setrlimit(RLIMIT_AS, &none))
        return NOT_POSSIBLE;
    int code = work();
    say_result("mmap", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    say_result("open", open("after", O_CREAT | O_RDWR, 0600));
    return code;
}

static int full_heap(void) {
    struct rlimit used = {0, 0};
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");

    if (!statm || fscanf(statm, "%ld", &pages) != 1)
        return NOT_POSSIBLE;
    fclose(statm);
    used.rlim_cur = used.rlim_max = (rlim_t)pages * 4096 + (1 << 20);
    if (setrlimit(RLIMIT_AS, &used))
        return NOT_POSSIBLE;
    for (size_t bytes = 1 << 20; bytes >= 16; bytes /= 2)
        while (malloc(bytes))
            ;
    int code = work();
    for (int i = 0; i < 20; i++)
        code = code ? code : write_one("again") ? 0 : 4;
    return code;
}

static int file_size(void) {
    struct rlimit small = {100, 100};

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &small))
        return NOT_POSSIBLE;
    int code = work();
    say_result("write at 200", pwrite(fd, "x", 1, 200));
    say_result("write over 100", pwrite(fd, "0123456789", 10, 95));
    return code;
}

static int processes(void) {
    struct rlimit none = {0, 0};

    return setrlimit(RLIMIT_NPROC, &none) ? NOT_POSSIBLE : work();
}

static int locked_memory(void) {
    if (mlockall(MCL_CURRENT | MCL_FUTURE))
        return not_possible("mlockall");
    return work();
}

/* The kernel's default of today, for a user who may not lock more. */
static int little_locked_memory(void) {
    const struct rlimit most = {8 << 20, 8 << 20};

    if (setrlimit(RLIMIT_MEMLOCK, &most) || (geteuid() == 0 && setresuid(65534, 65534, 65534)))
        return NOT_POSSIBLE;
    if (mlockall(MCL_CURRENT) || mlockall(MCL_CURRENT | MCL_FUTURE))
        return 1;
    return malloc(300000) ? work() : 4;
}

static int little_data(void) {
    const struct rlimit most = {3 << 20, 3 << 20};

    if (setrlimit(RLIMIT_DATA, &most))
        return NOT_POSSIBLE;
    execl(self, self, "work", "early", NULL);
    return 1;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"strict", strict},
                                            {"kills_at_nothing", kills_at_nothing},
                                            {"no_sockets", no_sockets},
                                            {"no_files", no_files},
                                            {"dispatch", dispatch},
                                            {"no_processes", no_processes},
                                            {"no_memory_calls", no_memory_calls},
                                            {"only_writes", only_writes},
                                            {"mdwe", mdwe},
                                            {"descriptors_0", descriptors_0},
                                            {"descriptors_3", descriptors_3},
                                            {"descriptors_4", descriptors_4},
                                            {"no_memory", no_memory},
                                            {"full_heap", full_heap},
                                            {"file_size", file_size},
                                            {"processes", processes},
                                            {"locked_memory", locked_memory},
                                            {"little_locked_memory", little_locked_memory},
                                            {"little_data", little_data},
                                            {"work", work},
                                            {NULL, NULL}};
    fd = make("a");
    self = values[0];
    is_inherited = count > 2 && strcmp(values[2], "inherited") == 0;
    is_late = count > 2 && strcmp(values[2], "late") == 0;
    if (is_late && write(fd, "first\n", 6) != 6)
        return 100;
    return run_hazard(hazards, count, values);
}
