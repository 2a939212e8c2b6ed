/* SPDX-License-Identifier: Apache-2.0 */
/* What the stories of preload_story_*.c share. */
#ifndef TRIB_TEST_PRELOAD_STORY_H
#define TRIB_TEST_PRELOAD_STORY_H

struct story {
    const char *name; /* NULL: none behind it */
    void (*tell)(void);
};
extern const struct story stories_of_bytes[], stories_of_deaths[], stories_of_processes[], stories_of_descriptors[],
    stories_of_maps[], stories_of_numbers[];

extern char data[1 << 16];

/* A descriptor of the file, created if it is not there. */
int make(const char *name, int flags);

/* Ends the program unless `fine`. */
void check(int fine);

#endif
