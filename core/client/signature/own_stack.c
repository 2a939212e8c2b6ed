/* SPDX-License-Identifier: Apache-2.0 */
#include "own_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 8 /* of "[stack]" and its end */

/* One line of /proc/self/maps: "low-high rw-p 00000000 00:00 0    [stack]". */
struct mapping {
    uintptr_t low, high;
    char name[NAME_BYTES]; /* what follows the last space; cut */
};

struct line_state {
    struct mapping mapping;
    enum { IN_LOW, IN_HIGH, IN_REST } field;
    unsigned name_length;
};

struct search {
    uintptr_t frame, control; /* the thread control block; glibc and musl put it at the top of a thread's stack */
    bool is_first_thread;
    uintptr_t before; /* end of the mapping before this line's */
    struct trib_stack found;
};

static uintptr_t with_digit(uintptr_t value, char c) {
    return value * 16 + (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void take_character(struct line_state *line, char c) {
    if (line->field == IN_REST) {
        if (c == ' ')
            line->name_length = 0;
        else if (line->name_length < NAME_BYTES)
            line->mapping.name[line->name_length++] = c;
    } else if (c == '-') {
        line->field = IN_HIGH;
    } else if (c == ' ') {
        line->field = IN_REST;
    } else if (line->field == IN_LOW) {
        line->mapping.low = with_digit(line->mapping.low, c);
    } else {
        line->mapping.high = with_digit(line->mapping.high, c);
    }
}

static bool holds(const struct mapping *mapping, uintptr_t address) {
    return address >= mapping->low && address < mapping->high;
}

/* The first thread's stack has a name, and grows down to what is mapped below it. Any other's ends at its control block;
 * so does that of the first thread of a child that such a thread forked. */
static void judge(struct search *search, const struct line_state *line) {
    const struct mapping *mapping = &line->mapping;
    bool is_named = line->name_length == NAME_BYTES - 1 && memcmp(mapping->name, "[stack]", NAME_BYTES - 1) == 0;

    if (holds(mapping, search->control) && (!search->is_first_thread || holds(mapping, search->frame)))
        search->found = (struct trib_stack){mapping->low, search->control};
    else if (is_named && search->is_first_thread && search->found.high == 0)
        search->found = (struct trib_stack){search->before, mapping->high};
    search->before = mapping->high;
}

static void read_maps(struct search *search, int maps) {
    char text[1024]; /* small: alternate signal stacks are */
    struct line_state line = {.field = IN_LOW};
    ssize_t count;

    while ((count = read(maps, text, sizeof text)) > 0 || (count < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < count; i++) {
            if (text[i] != '\n') {
                take_character(&line, text[i]);
                continue;
            }
            judge(search, &line);
            line = (struct line_state){.field = IN_LOW};
        }
    }
}

struct trib_stack trib_own_stack(uintptr_t frame) {
    struct search search = {
        .frame = frame,
        .control = (uintptr_t)pthread_self(),
        .is_first_thread = gettid() == getpid(),
    };
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    if (maps >= 0) {
        read_maps(&search, maps);
        close(maps);
    }
    return search.found;
}
