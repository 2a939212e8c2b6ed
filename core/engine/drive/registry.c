/* SPDX-License-Identifier: Apache-2.0 */
/* The only list of drives. */
#include <string.h>

#include "drive/drives.h"

const struct trib_drive *const trib_drives[] = {
    &trib_drive_emulated,
    NULL,
};

const struct trib_drive *trib_drive_find(const char *name, struct trib_error *error) {
    struct trib_error names = {""};
    size_t used = 0;
    for (size_t i = 0; trib_drives[i]; i++) {
        if (!strcmp(trib_drives[i]->name, name))
            return trib_drives[i];
        if (used < sizeof names.text)
            used += (size_t)snprintf(names.text + used, sizeof names.text - used, " %s",
                                     trib_drives[i]->name);
    }
    trib_fail(error, 0, "unknown drive '%s'; valid:%.400s, or none", name, names.text);
    return NULL;
}
