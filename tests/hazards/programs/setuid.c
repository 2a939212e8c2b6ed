/* SPDX-License-Identifier: Apache-2.0 */
/* `as_nobody COPY HOW LIBRARY TRACE`: becomes nobody and starts the set-uid copy of this program with every variable
 * that the library reads. The copy (`run HOW LIBRARY`) writes a file, with the library loaded or not. */
#include <dlfcn.h>
#include <limits.h>
#include <sys/auxv.h>

#include "hazard.h"

static int as_nobody(char **values) {
    char preload[PATH_MAX + 16], options[PATH_MAX + 64], session[PATH_MAX + 32];
    char *list[] = {values[2], "run", values[3], values[4], NULL};
    char *variables[] = {"PATH=/usr/bin:/bin", options, session, preload, NULL};

    snprintf(options, sizeof options, "TRIBUTARY=policy=pcstream,trace=%s,state=%.*s/state", values[5],
             (int)(strrchr(values[5], '/') - values[5]), values[5]);
    snprintf(session, sizeof session, "TRIBUTARY_DAEMON=%s.sock", values[5]);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", values[4]);
    if (strcmp(values[3], "loads") == 0)
        variables[3] = NULL;
    if (setgid(65534) || setuid(65534))
        return 3;
    execve(list[0], list, variables);
    return 4;
}

static int run(char **values) {
    if (!getauxval(AT_SECURE) || geteuid() != 0)
        return not_possible("set-uid programs (nosuid?)");
    if (strcmp(values[2], "loads") == 0 && !dlopen(values[3], RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 5;
    }
    say("secure %d, effective %d\n", (int)getauxval(AT_SECURE), (int)geteuid());
    for (int i = 0; i < 100; i++)
        if (!write_one("file"))
            return 6;
    pause_ms(50);
    say("written\n");
    return 0;
}

int main(int count, char **values) {
    if (count > 5 && strcmp(values[1], "as_nobody") == 0)
        return as_nobody(values);
    return count > 3 && strcmp(values[1], "run") == 0 ? run(values) : 100;
}
