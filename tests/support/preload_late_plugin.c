/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with imports that the preload library stands in front of. PRELOAD_LATE_WAITS=IN,OUT: its constructor, which
 * runs under the loader's lock, writes a byte to OUT and waits for one from IN. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void wait_inside(void) {
    const char *text = getenv("PRELOAD_LATE_WAITS");
    int in, out;
    char byte = 'x';

    if (text && sscanf(text, "%d,%d", &in, &out) == 2 && write(out, &byte, 1) == 1 && read(in, &byte, 1) != 1)
        abort();
}

__attribute__((visibility("default"))) int preload_late_plugin(int works);

int preload_late_plugin(int works) {
    int fd = works ? open("/dev/null", O_WRONLY) : -1;

    if (works) {
        unlink("none");
        rename("none", "nothing");
        fsync(fd);
    }
    return write(fd, "", 0) == 0 && close(fd) == 0 ? 1 : 0;
}
