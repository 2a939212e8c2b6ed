/* SPDX-License-Identifier: Apache-2.0 */
/* What others on the machine do must not reach the program: locks of another process, by the ten thousand. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "hazard.h"

#define FILES      60
#define LOCKS_EACH 1000
#define BYTES      (1 << 20)

/* Another's, on files of its own. `ready` says that it has them; it ends with the other end of `stay`. */
static void hold_locks(int ready, int stay) {
    char end;

    for (int i = 0; i < FILES; i++) {
        FILE *file = tmpfile();
        for (int at = LOCKS_EACH; file && at > 0; at--) { /* downwards, which costs the kernel no search */
            struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2 * at, .l_len = 1};
            if (fcntl(fileno(file), F_SETLK, &lock))
                _exit(2);
        }
    }
    if (write(ready, "x", 1) != 1 || read(stay, &end, 1) < 0)
        _exit(3);
    _exit(0);
}

/* A mapped file whose descriptor is closed: which of its pages are dirty needs another for a moment. */
static int map_and_unmap(void) {
    for (int i = 0; i < 3; i++) {
        int fd = make("a");
        if (ftruncate(fd, BYTES))
            return 4;
        char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED || close(fd))
            return 5;
        memory[5000] = (char)i;
        if (munmap(memory, BYTES))
            return 6;
    }
    return write_one("after") ? 0 : 7;
}

static int beside_locks(void) {
    int ready[2], stay[2];
    char there;

    if (pipe(ready) || pipe(stay))
        return 1;
    pid_t child = fork();
    if (child == 0) {
        close(stay[1]);
        hold_locks(ready[1], stay[0]);
    }
    close(ready[1]);
    int result = read(ready[0], &there, 1) == 1 ? map_and_unmap() : 8;
    close(stay[1]);
    say_ends(&child, 1);
    return result;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"locks", beside_locks}, {NULL, NULL}};
    return run_hazard(hazards, count, values);
}
