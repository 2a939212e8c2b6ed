/* SPDX-License-Identifier: Apache-2.0 */
/* Small and foreign stacks: threads of 16 KiB, alternate stacks, fibres; and threads that end while others write. */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "hazard.h"

/* So many that a write's own time shows beside the program's start, and fewer than wait in a ring: none is lost. */
#define REPEATED 12000

static _Atomic int failed;
static int writes_of_thread = 200;

static void *write_many(void *name) {
    int fd = make(name);

    for (int i = 0; i < writes_of_thread; i++)
        if (write(fd, "0123456789", 10) != 10)
            failed++;
    if (fsync(fd) || close(fd))
        failed++;
    if (!write_one("once") && errno != ENOENT)
        failed++;
    return NULL;
}

static int thread_on(size_t bytes, void *stack) {
    pthread_attr_t attributes;
    pthread_t thread;
    static char name[] = "small";

    writes_of_thread = REPEATED;
    pthread_attr_init(&attributes);
    int code = stack ? pthread_attr_setstack(&attributes, stack, bytes) : pthread_attr_setstacksize(&attributes, bytes);
    if (code == 0)
        code = pthread_create(&thread, &attributes, write_many, name);
    if (code)
        return not_possible("such a stack");
    pthread_join(thread, NULL);
    say("%d failures\n", (int)failed);
    return 0;
}
static int small_thread(void) {
    return thread_on(16384, NULL);
}
static int small_thread_later(void) {
    return write_one("first") ? thread_on(16384, NULL) : 2;
}
/* A stack of the program's own, between two pages that nobody may touch. */
static int own_stack(void) {
    char *area = mmap(NULL, 16384 + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (area == MAP_FAILED || mprotect(area + 4096, 16384, PROT_READ | PROT_WRITE))
        return NOT_POSSIBLE;
    return thread_on(16384, area + 4096);
}

static int alternate_fd;
static volatile sig_atomic_t handled;
static void on_alternate(int number) {
    (void)number;
    for (int i = 0; i < 10; i++)
        if (write(alternate_fd, "0123456789", 10) != 10)
            failed++;
    handled++;
}

static int alternate(void) {
    static char stack[8192] __attribute__((aligned(64)));
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};

    alternate_fd = make("a");
    if (sigaltstack(&other, NULL) || sigaction(SIGUSR1, &action, NULL))
        return not_possible("an alternate stack of 8 KiB");
    for (int i = 0; i < REPEATED / 10; i++)
        raise(SIGUSR1);
    say("%d handled, %d failures\n", (int)handled, (int)failed);
    return 0;
}

/* The stack overflows, and the handler that reports it writes on its alternate stack. */
static int report_fd;
static void report(int number) {
    (void)number;
    _exit(write(report_fd, "overflow\n", 9) == 9 ? 42 : 43);
}
__attribute__((noinline)) static int fall(volatile char *above) {
    volatile char frame[4096];

    frame[0] = above[0];
    return frame[0] == 77 ? 0 : fall(frame) + frame[0];
}
static int overflow(void) {
    static char stack[16384] __attribute__((aligned(64)));
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = report, .sa_flags = SA_ONSTACK};
    char first = 0;

    report_fd = make("report");
    if (sigaltstack(&other, NULL) || sigaction(SIGSEGV, &action, NULL))
        return NOT_POSSIBLE;
    return fall(&first);
}

/* ---- fibres ---- */

#define FIBRES          8
#define WRITES_OF_FIBRE (REPEATED / FIBRES)
static ucontext_t home, fibres[FIBRES];
static int fibre_fd;

static void in_fibre(int number) {
    for (int i = 0; i < WRITES_OF_FIBRE; i++) {
        if (pwrite(fibre_fd, "0123456789", 10, (number * WRITES_OF_FIBRE + i) * 10) != 10)
            failed++;
        swapcontext(&fibres[number], &fibres[(number + 1) % FIBRES]);
    }
    if (!write_one("from_fibre"))
        failed++;
}

static int run_fibres(size_t stack_bytes) {
    fibre_fd = make("fibres");
    for (int i = 0; i < FIBRES; i++) {
        char *area = mmap(NULL, stack_bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (area == MAP_FAILED || mprotect(area + 4096, stack_bytes, PROT_READ | PROT_WRITE))
            return NOT_POSSIBLE;
        getcontext(&fibres[i]);
        fibres[i].uc_stack.ss_sp = area + 4096;
        fibres[i].uc_stack.ss_size = stack_bytes;
        fibres[i].uc_link = &home;
        makecontext(&fibres[i], (void (*)(void))(void *)in_fibre, 1, i);
    }
    swapcontext(&home, &fibres[0]);
    say("%d failures\n", (int)failed);
    return 0;
}
static int fibres_small(void) {
    return run_fibres(16384);
}
static int fibres_large(void) {
    return write_one("first") ? run_fibres(262144) : 2;
}
static void *fibres_of_thread(void *unused) {
    (void)unused;
    run_fibres(16384);
    return NULL;
}
static int fibres_in_thread(void) {
    pthread_t thread;

    pthread_create(&thread, NULL, fibres_of_thread, NULL);
    pthread_join(thread, NULL);
    return 0;
}

/* ---- threads that end ---- */

static void *write_briefly(void *name) {
    if (!write_one(name))
        failed++;
    return NULL;
}

static int short_threads(void) {
    pthread_t steady[2], brief;
    static char names[2][8] = {"steady0", "steady1"}, name[] = "brief";

    for (int i = 0; i < 2; i++)
        pthread_create(&steady[i], NULL, write_many, names[i]);
    for (int i = 0; i < 300; i++) {
        if (pthread_create(&brief, NULL, write_briefly, name))
            return 2;
        pthread_join(brief, NULL);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(steady[i], NULL);
    say("%d failures\n", (int)failed);
    return 0;
}

/* Writes from the destructor of thread-local data, when the library's own may be gone. */
static void at_thread_end(void *name) {
    if (!write_one(name))
        failed++;
}
static pthread_key_t key;
static void *with_destructor(void *name) {
    pthread_setspecific(key, name);
    return write_briefly(name);
}
static int late_in_thread(void) {
    static char name[] = "late";
    pthread_t thread;

    pthread_key_create(&key, at_thread_end);
    for (int i = 0; i < 20; i++) {
        pthread_create(&thread, NULL, with_destructor, name);
        pthread_join(thread, NULL);
    }
    say("%d failures\n", (int)failed);
    return 0;
}

/* main's thread ends first; the process with the last. */
static void *outlives(void *name) {
    pause_ms(50);
    write_many(name);
    return NULL;
}
static int main_ends_first(void) {
    static char name[] = "outlives";
    pthread_t thread;

    write_one("first");
    pthread_create(&thread, NULL, outlives, name);
    pthread_exit(NULL);
}

static void at_end(void) {
    write_one("at_exit");
}
static int at_exit(void) {
    atexit(at_end);
    fopen("stdio", "w");
    FILE *file = fopen("flushed", "w");
    fputs("flushed by exit\n", file);
    return write_one("first") ? 0 : 2;
}

/* exit() while threads are in the middle of writing. */
static _Atomic int started;
static void *for_ever(void *name) {
    int fd = make(name);

    for (int i = 0;; i++) {
        if (pwrite(fd, "0123456789", 10, 0) != 10)
            failed++;
        started += i == 0;
    }
    return NULL;
}
static int exit_beside_writers(void) {
    static char names[3][3] = {"a0", "a1", "a2"};
    pthread_t thread;

    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, for_ever, names[i]);
    while (started < 3)
        pause_ms(1);
    pause_ms(20);
    return 5;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"small_thread", small_thread},
                                            {"small_thread_later", small_thread_later},
                                            {"own_stack", own_stack},
                                            {"alternate", alternate},
                                            {"overflow", overflow},
                                            {"fibres_small", fibres_small},
                                            {"fibres_large", fibres_large},
                                            {"fibres_in_thread", fibres_in_thread},
                                            {"short_threads", short_threads},
                                            {"late_in_thread", late_in_thread},
                                            {"main_ends_first", main_ends_first},
                                            {"at_exit", at_exit},
                                            {"exit_beside_writers", exit_beside_writers},
                                            {NULL, NULL}};
    return run_hazard(hazards, count, values);
}
