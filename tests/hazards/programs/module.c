/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object with imports of many hooked calls, for loader.c. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((visibility("default"))) int hazard_module(int do_it);

int hazard_module(int do_it) {
    if (do_it) {
        int fd = open("module", O_CREAT | O_WRONLY, 0600);
        (void)!write(fd, "x", 1);
        fsync(fd);
        close(fd);
        rename("module", "renamed");
        unlink("renamed");
    }
    return do_it;
}
