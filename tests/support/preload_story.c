/* SPDX-License-Identifier: Apache-2.0 */
/* Small deeds, one per first argument, in the folder of the second; tests know what the shim must say of each. */
#include "preload_story.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char data[1 << 16];

int make(const char *name, int flags) {
    int fd = open(name, flags | O_CREAT, 0600);
    if (fd < 0)
        exit(99);
    return fd;
}

void check(int fine) {
    if (!fine) {
        perror("preload_story");
        exit(98);
    }
}

int main(int count, char **arguments) {
    const struct story *const all[] = {stories_of_bytes,       stories_of_deaths, stories_of_processes,
                                       stories_of_descriptors, stories_of_maps,   stories_of_numbers};

    if (count != 3 || chdir(arguments[2]) != 0)
        return 2;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (const struct story *story = all[i]; story->name; story++)
            if (strcmp(story->name, arguments[1]) == 0) {
                story->tell();
                return 0;
            }
    return 2;
}
