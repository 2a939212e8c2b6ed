/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with imports that the preload library stands in front of. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

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
