/* SPDX-License-Identifier: Apache-2.0 */
/* The only list of drives. */
#include <string.h>

#include "drive/drives.h"

static const struct trib_drive *const drives[] = {
    &trib_drive_emulated,
    NULL,
};

const struct trib_drive *const *trib_drives(void) {
    return drives;
}

const struct trib_drive *trib_drive_find(const char *name, struct trib_error *error) {
    struct trib_error names = {""};
    size_t used = 0;
    for (size_t i = 0; drives[i]; i++) {
        if (!strcmp(drives[i]->name, name))
            return drives[i];
        if (used < sizeof names.text)
            used += (size_t)snprintf(names.text + used, sizeof names.text - used, " %s", drives[i]->name);
    }
    trib_fail(error, 0, "unknown drive '%s'; valid:%.400s, or none", name, names.text);
    return NULL;
}
