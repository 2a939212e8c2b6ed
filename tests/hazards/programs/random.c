/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is made of a seed: `run SEED LENGTH` makes LENGTH random system calls in the folder it starts in and
 * says what each gave, and what descriptors it has at the end. The first calls of a longer program are those of a
 * shorter one. `batch FIRST COUNT LENGTH` starts one such program after the other, each in a folder of its own, hooked
 * where HAZARD_PRELOAD and HAZARD_TRACE say so. Deterministic: children are waited for in order. */
#include <poll.h>
#include <sys/stat.h>

#include "hazard.h"
#include "random.h"

/* ---- one program ---- */

static int run_one(const char *seed, int length) {
    struct trib_random program = {.state = strtoull(seed, NULL, 10) * 0x9e3779b97f4a7c15ull + 1, .seed = seed};

    random_start(&program);
    for (int i = 0; i < length; i++)
        random_step(&program, i);
    random_table();
    return (int)(random_next(&program) % 50);
}

/* ---- many ---- */

static void become(char *self, const char *seed, const char *length) {
    const char *preload = getenv("HAZARD_PRELOAD"), *trace = getenv("HAZARD_TRACE");
    char options[4200];
    int out;

    setpgid(0, 0);
    if (mkdir(seed, 0755) || chdir(seed) || (out = open("out", O_CREAT | O_WRONLY | O_APPEND, 0600)) < 0)
        _exit(90);
    dup2(out, 1);
    dup2(out, 2);
    close(out);
    if (preload) {
        snprintf(options, sizeof options, "policy=pcstream,trace=%s.%s", trace, seed);
        setenv("TRIBUTARY", options, 1);
        setenv("LD_PRELOAD", preload, 1);
        unsetenv("HAZARD_PRELOAD");
        unsetenv("HAZARD_TRACE");
    }
    execl(self, self, "run", seed, length, (char *)NULL);
    _exit(91);
}

/* Ends it with its group after ten seconds. */
static int wait_for(pid_t child) {
    struct pollfd ready = {(int)syscall(SYS_pidfd_open, child, 0), POLLIN, 0};
    int status = 0;

    if (poll(&ready, 1, 10000) == 0) {
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
        say("hung ");
    }
    close(ready.fd);
    waitpid(child, &status, 0);
    return status;
}

static int batch(char **values) {
    long first = atol(values[2]), count = atol(values[3]);

    for (long i = first; i < first + count; i++) {
        char seed[32];
        snprintf(seed, sizeof seed, "%ld", i);
        pid_t child = fork();
        if (child == 0)
            become(values[0], seed, values[4]);
        say("%ld: ", i);
        say("%x\n", (unsigned)wait_for(child));
    }
    return 0;
}

int main(int count, char **values) {
    if (count > 4 && strcmp(values[1], "batch") == 0)
        return batch(values);
    return count > 3 ? run_one(values[2], atoi(values[3])) : 100;
}
