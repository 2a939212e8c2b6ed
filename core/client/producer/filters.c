/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of system calls, which may end a process for a call that its author did not foresee. Asked by what the loader
 * has just done itself: opening, reading and closing a file. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <tributary/client.h>

#include "base/raw.h"

#define STATUS_BYTES 4096u

static const char *value_of(const char *text, const char *field) {
    const char *line = strstr(text, field);

    return line ? line + strlen(field) : NULL;
}

static bool is_all_there(const char *text) {
    const char *count = value_of(text, "\nSeccomp_filters:\t");

    return count && strchr(count, '\n');
}

unsigned trib_client_filters(void) {
    char text[STATUS_BYTES];
    size_t used = 0;
    long got = 0, fd = TRIB_RAW(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);

    if (fd < 0) /* no /proc: the one question that is left */
        return TRIB_RAW(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) > 0 ? 1 : 0;
    text[0] = '\0';
    while (used < sizeof text - 1 && !is_all_there(text) &&
           (got = TRIB_RAW(SYS_read, fd, text + used, sizeof text - 1 - used)) > 0)
        text[used += (size_t)got] = '\0';
    TRIB_RAW(SYS_close, fd);
    const char *mode = value_of(text, "\nSeccomp:\t"), *count = value_of(text, "\nSeccomp_filters:\t");
    if (!mode || *mode == '0')
        return 0;
    return count ? (unsigned)strtoul(count, NULL, 10) : 1; /* counted since Linux 5.9 */
}
