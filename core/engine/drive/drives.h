/* SPDX-License-Identifier: Apache-2.0 */
/* The back-ends that registry.c lists. Thread safety: constant data. */
#ifndef TRIB_DRIVE_DRIVES_H
#define TRIB_DRIVE_DRIVES_H

#include <tributary/drive.h>

TRIB_C_BEGIN

extern const struct trib_drive trib_drive_emulated;

TRIB_C_END
#endif
