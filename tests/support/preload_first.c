/* SPDX-License-Identifier: Apache-2.0 */
/* First writes beside which something else goes on, by the first argument, in the folder of the second. The
 * program goes by the name "another-name". */
#include <sys/resource.h>

#include "../hazards/programs/steps.h"

static int first_fd, second_fd;

static void write_first(void) {
    write(first_fd, "first", 5);
}
static void write_second(void) {
    write(second_fd, "second", 6);
}
static int end_well(void) {
    return 0;
}

static int steps_end(struct steps *steps) {
    steps->first = write_first;
    steps->second = write_second;
    steps->end = end_well;
    int status = steps_run(steps);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

/* The other thread's first write waits for this one's, for as long as it takes to make some hundred system calls. */
static int wait_for_each_call(void) {
    struct steps steps = {.call = STEPS_ANY_CALL, .second_calls = 600};
    int code = 0;

    for (; code == 0 && !steps.is_over; steps.number++)
        code = steps.number == 1000 ? 4 : steps_end(&steps);
    return code;
}

/* The other thread waits in vain. */
static int wait_for_name(void) {
    struct steps steps = {.call = SYS_readlinkat};

    return steps_end(&steps);
}

/* The child of a vfork writes first, and may not map memory. */
static int limit_child(void) {
    const struct rlimit none = {0, 0};
    int status = -1;
    pid_t child = vfork();

    if (child == 0) {
        if (setrlimit(RLIMIT_AS, &none) || setrlimit(RLIMIT_DATA, &none))
            _exit(NOT_POSSIBLE);
        _exit(write(second_fd, "second", 6) == 6 ? 0 : 5);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
        return 6;
    write_first();
    return 0;
}

int main(int count, char **values) {
    static const struct hazard programs[] = {{"wait_for_each_call", wait_for_each_call},
                                             {"wait_for_name", wait_for_name},
                                             {"limit_child", limit_child},
                                             {NULL, NULL}};
    char *again[] = {"another-name", values[1], values[2], NULL};

    if (count != 3)
        return 2;
    if (strcmp(values[0], again[0]) != 0)
        execv("/proc/self/exe", again);
    if (chdir(values[2]))
        return 2;
    first_fd = open("first", O_CREAT | O_WRONLY, 0600);
    second_fd = open("second", O_CREAT | O_WRONLY, 0600);
    return run_hazard(programs, count, values);
}
