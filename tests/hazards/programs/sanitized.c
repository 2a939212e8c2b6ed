/* SPDX-License-Identifier: Apache-2.0 */
/* Built with AddressSanitizer, whose runtime is in the program, or a library of its own: it comes before every
 * constructor, sets an alternate signal stack then, and stands between the program and libc. */
#include <signal.h>

#include "hazard.h"

#ifdef HAVE_ASAN
static int fd;

static void on_signal(int number) {
    (void)number;
    say_result("write in a handler", write(fd, "0123456789", 10));
}

static int writes(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    char *memory = malloc(100);

    fd = make("a");
    memset(memory, 'm', 100);
    for (int i = 0; i < 20; i++)
        if (write(fd, memory, 100) != 100)
            return 3;
    free(memory);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    FILE *stream = fopen("stream", "w");
    fputs("hello", stream);
    return fclose(stream) || close(fd) || !write_one("after");
}
#else
static int writes(void) {
    return not_possible("no runtime of AddressSanitizer");
}
#endif

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"writes", writes}, {NULL, NULL}};

    return run_hazard(hazards, count, values);
}
