/* SPDX-License-Identifier: Apache-2.0 */
#include "files/devices.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include "libc/raw.h"

#define DEVICES 64u /* more are asked about at each first write */
#define PROBES  8u

static _Atomic(uint64_t) devices[DEVICES]; /* device << 2 | enum trib_device; 0: free */

static enum trib_device judge(const struct statfs *system) {
    switch ((unsigned long)system->f_type) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case HUGETLBFS_MAGIC:
        return TRIB_DEVICE_PSEUDO;
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
        return TRIB_DEVICE_MEMORY;
    default:
        return TRIB_DEVICE_STORAGE;
    }
}

enum trib_device trib_device_of(int fd, dev_t device) {
    uint64_t key = (uint64_t)device << 2;
    unsigned start = (unsigned)(((uint64_t)device * 0x9E3779B97F4A7C15ull) >> 58); /* 64 slots */
    struct statfs system;

    if (major(device) != 0) /* a disk's, and those hold files */
        return TRIB_DEVICE_STORAGE;
    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t known = atomic_load_explicit(&devices[(start + i) % DEVICES], memory_order_relaxed);
        if (known && (known & ~3ull) == key)
            return (enum trib_device)(known & 3);
    }
    if (TRIB_RAW(SYS_fstatfs, fd, &system) != 0)
        return TRIB_DEVICE_PSEUDO; /* as a descriptor that is gone */
    enum trib_device found = judge(&system);
    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&devices[(start + i) % DEVICES], &none, key | found))
            break;
    }
    return found;
}
