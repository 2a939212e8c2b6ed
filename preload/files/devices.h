/* SPDX-License-Identifier: Apache-2.0 */
/* What lies behind a file's device, asked of the kernel once for each. A device without a disk (st_dev's major
 * number 0) that is unmounted and comes again as another kind of file system keeps its first answer. Thread safety:
 * any thread, signal handlers; a fixed table, no lock. */
#ifndef TRIB_PRELOAD_DEVICES_H
#define TRIB_PRELOAD_DEVICES_H

#include <sys/types.h>

enum trib_device {
    TRIB_DEVICE_STORAGE = 1,
    TRIB_DEVICE_MEMORY, /* tmpfs */
    TRIB_DEVICE_PSEUDO, /* holds no files that a drive will ever see */
};

/* Of the file behind fd, whose st_dev is `device`. */
enum trib_device trib_device_of(int fd, dev_t device);

#endif
