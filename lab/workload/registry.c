/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workload/workloads.h"

const struct trib_workload_kind *const trib_workloads[] = {
    &trib_workload_partitions, &trib_workload_uniform, &trib_workload_zipf,
    &trib_workload_hotcold,    &trib_workload_lsm,     &trib_workload_wal_pages,
    &trib_workload_builds,     &trib_workload_tenants, NULL,
};

const struct trib_workload_kind *trib_workload_find(const char *name, struct trib_error *error) {
    struct trib_error names = {""};
    size_t used = 0;

    for (const struct trib_workload_kind *const *kind = trib_workloads; *kind; kind++) {
        if (strcmp((*kind)->name, name) == 0)
            return *kind;
        if (used < sizeof names.text)
            used += (size_t)snprintf(names.text + used, sizeof names.text - used, " %s", (*kind)->name);
    }
    trib_fail(error, -EINVAL, "unknown workload '%.60s'; valid are%.400s", name, names.text);
    return NULL;
}
