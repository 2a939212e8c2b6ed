/* SPDX-License-Identifier: Apache-2.0 */
/* New threads' first writes in a process with N mappings, as a JVM with mapped tables has them. With a second argument
 * it prints the median of what such a write takes, in microseconds, and nothing else depends on the time. */
#include <pthread.h>
#include <sys/mman.h>

#include "hazard.h"

#define THREADS 200

static int fd;
static double first_us[THREADS];

static void *write_first(void *number) {
    double before = now_us();

    if (pwrite(fd, "0123456789", 10, 0) != 10)
        _exit(3);
    first_us[(intptr_t)number] = now_us() - before;
    return NULL;
}

static int in_order(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;

    return difference < 0 ? -1 : difference > 0;
}

int main(int count, char **values) {
    int mappings = count > 1 ? atoi(values[1]) : 0, mapped = 0;

    fd = make("a");
    if (pwrite(fd, "0123456789", 10, 0) != 10)
        return 2;
    for (int i = 0; i < mappings; i++) /* neighbours differ, or the kernel would join them */
        mapped += mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
    if (mapped != mappings)
        return not_possible("so many mappings");
    for (intptr_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, write_first, (void *)i))
            return 4;
        pthread_join(thread, NULL);
    }
    qsort(first_us, THREADS, sizeof *first_us, in_order);
    if (count > 2)
        say("%.3f\n", first_us[THREADS / 2]);
    return 0;
}
